#include "cli/lake_run.h"

#include <filesystem>
#include <string_view>

#include "cli/become_python.h"
#include "wrap/add_to_lake.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "run=";

// A lake has this table, whatever else it has.
bool is_lake(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "run", ignored);
}

}  // namespace

std::optional<LakeRun> lake_run_of(const std::string& path) {
  fs::path named(path);
  if (!named.has_filename()) named = named.parent_path();  // it ends with a slash
  std::error_code ignored;
  const std::string name = named.filename().string();
  if (!name.starts_with(kPrefix)) {
    if (!fs::is_directory(named, ignored) || !is_lake(named)) return std::nullopt;
    return LakeRun{named.string(), ""};
  }
  if (name == kPrefix) return std::nullopt;  // of no run
  if (is_address(path)) {  // of an object store: only Python can say whether there is such a run
    return LakeRun{path.substr(0, path.rfind('/' + name)), name.substr(kPrefix.size())};
  }
  fs::path lake = named.has_parent_path() ? named.parent_path() : fs::path(".");
  if (!is_lake(lake) && fs::is_directory(named, ignored))  // the folder of a table
    lake = lake.has_parent_path() ? lake.parent_path() : fs::path(".");
  if (!is_lake(lake)) return std::nullopt;
  return LakeRun{lake.string(), name.substr(kPrefix.size())};
}

Status failure_to_open(const std::string& path, const Status& failure) {
  const auto found = lake_run_of(path);
  if (!found) return failure;
  return Status::error(ErrorKind::kUsage,
                       path + (found->run.empty() ? ": is a lake" : ": is a run of a lake") +
                           ", which has no events; name the store of a node (" +
                           "`stepscope analyze " + path + "` lists them)");
}

int become_fleet(const std::vector<std::string>& words) { return become_python("fleet", words); }

}  // namespace stepscope::cli

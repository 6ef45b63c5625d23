#include "profiler/doctor/python_package.h"

#include <chrono>
#include <vector>

#include "profiler/doctor/command.h"

namespace stepscope {
namespace {

// An interpreter on a file system that does not answer must not hold up what only asks it.
constexpr std::chrono::seconds kPatience{15};

// The first line of what a Python prints; "" if it fails.
std::string answer_of(const std::vector<std::string>& words) {
  const auto said = capture_within(words, kPatience);
  const bool answered = said.ok() && said->exit_code == 0;
  return answered ? said->output.substr(0, said->output.find('\n')) : "";
}

}  // namespace

// "python -c" searches the working folder first: an empty entry in its path.
std::string python_package_folder(const std::string& python, const std::string& package) {
  return answer_of(
      {python, "-c",
       "import sys; sys.path[:] = [p for p in sys.path if p]; "
       "import importlib.util as u; s = u.find_spec(sys.argv[1]); "
       "print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')",
       package});
}

std::string python_version(const std::string& python) {
  const std::string version =
      answer_of({python, "-I", "-c",
                 "import sys, sysconfig; i = sys.implementation.name; print("
                 "('' if i == 'cpython' else i + ' ') + '%d.%d' % sys.version_info[:2] + "
                 "(' without the GIL' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))"});
  return version.find('/') == std::string::npos ? version : "";
}

}  // namespace stepscope

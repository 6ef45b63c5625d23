#include "profiler/doctor/python_package.h"

#include "profiler/doctor/command.h"

namespace stepscope {

// "python -c" searches the working folder first: an empty entry in its path.
std::string python_package_folder(const std::string& python, const std::string& package) {
  const CommandResult found = capture(
      {python, "-c",
       "import sys; sys.path[:] = [p for p in sys.path if p]; "
       "import importlib.util as u; s = u.find_spec(sys.argv[1]); "
       "print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')",
       package});
  return found.exit_code == 0 ? found.output.substr(0, found.output.find('\n')) : "";
}

std::string python_version(const std::string& python) {
  const CommandResult said =
      capture({python, "-I", "-c",
               "import sys, sysconfig; i = sys.implementation.name; print("
               "('' if i == 'cpython' else i + ' ') + '%d.%d' % sys.version_info[:2] + "
               "(' without the GIL' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))"});
  const std::string version = said.output.substr(0, said.output.find('\n'));
  const bool is_version = said.exit_code == 0 && version.find('/') == std::string::npos;
  return is_version ? version : "";
}

}  // namespace stepscope

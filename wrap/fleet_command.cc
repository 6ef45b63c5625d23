#include "wrap/fleet_command.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "profiler/doctor/installation.h"

namespace stepscope {

Result<std::vector<std::string>> fleet_command(const std::string& verb,
                                               const std::vector<std::string>& words) {
  const std::filesystem::path folder = find_installation().libraries / "stepscope" / "fleet";
  if (!std::filesystem::exists(folder / "stepscope_fleet")) {
    return Status::error(ErrorKind::kUnavailable,
                         folder.string() + ": not there; install Stepscope anew");
  }
  const char* named = std::getenv("STEPSCOPE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // By its path, not by PYTHONPATH: nothing of the user's surroundings changes.
  std::vector<std::string> all{python, (folder / "stepscope_fleet").string(), verb};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Status no_python(const std::string& python, int error) {
  return Status::error(
      ErrorKind::kUnavailable,
      python + ": " + std::strerror(error) + "; install Python 3, or name one in STEPSCOPE_PYTHON");
}

}  // namespace stepscope

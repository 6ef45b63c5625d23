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
                         folder.string() + ": missing; reinstall Stepscope");
  }
  const char* named = std::getenv("STEPSCOPE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // Started by its path, not through PYTHONPATH, so that the user's environment does not change.
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

#include "profiler/doctor/installation.h"

#include <filesystem>

namespace stepscope {

Installation find_installation() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  return {prefix / STEPSCOPE_LIBDIR, prefix / STEPSCOPE_DATADIR / "stepscope" / "source"};
}

Result<Installation> ready_installation() {
  const Installation installed = find_installation();
  if (std::filesystem::exists(installed.libstepscope())) return installed;
  return Status::error(ErrorKind::kUnavailable,
                       installed.libstepscope().string() + ": missing; reinstall Stepscope");
}

}  // namespace stepscope

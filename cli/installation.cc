#include "cli/installation.h"

#include <filesystem>

namespace stepscope::cli {

Installation find_installation() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  return {prefix / STEPSCOPE_LIBDIR, prefix / STEPSCOPE_DATADIR / "stepscope" / "source"};
}

}  // namespace stepscope::cli

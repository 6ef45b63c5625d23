#include "cli/temporary_folder.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace stepscope::cli {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code code;
  std::string folder = (fs::temp_directory_path(code) / "stepscope-XXXXXX").string();
  if (!code && mkdtemp(folder.data()) != nullptr) return TemporaryFolder(folder);
  return Status::error(ErrorKind::kIo, folder + ": a temporary folder cannot be made; set TMPDIR");
}

void TemporaryFolder::Remove::operator()(const fs::path* path) const {
  std::error_code ignored;
  fs::remove_all(*path, ignored);
  delete path;
}

}  // namespace stepscope::cli

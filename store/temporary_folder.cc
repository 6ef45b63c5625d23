#include "store/temporary_folder.h"

#include <cstdlib>
#include <string>
#include <system_error>

#include "store/remove_on_signal.h"

namespace stepscope {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code code;
  fs::path parent = fs::temp_directory_path(code);
  std::string folder = (parent / "stepscope-XXXXXX").string();
  if (!code && mkdtemp(folder.data()) != nullptr) {
    remove_on_signal(folder);
    return TemporaryFolder(folder);
  }
  const char* const named = std::getenv("TMPDIR");
  if (code) parent = named != nullptr ? named : "/tmp";
  return Status::error(ErrorKind::kIo, parent.string() +
                                           ": no temporary folder can be created there; set TMPDIR "
                                           "to a folder that can be written");
}

void TemporaryFolder::Remove::operator()(const fs::path* path) const {
  std::error_code ignored;
  fs::remove_all(*path, ignored);
  keep_on_signal(path->string());
  delete path;
}

}  // namespace stepscope

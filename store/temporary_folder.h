// A temporary folder, private to the user. It is removed with everything in it when it goes out of
// scope, and when one of the signals of remove_on_signal.h ends the program (then only if it has no
// subfolders).
//
// Thread safety: several threads may make and remove folders.
#pragma once

#include <filesystem>
#include <memory>

#include "store/status.h"

namespace stepscope {

class TemporaryFolder {
 public:
  // In the system's temporary folder (TMPDIR). Errors: kIo.
  static Result<TemporaryFolder> make();

  [[nodiscard]] const std::filesystem::path& path() const { return *path_; }

 private:
  struct Remove {
    void operator()(const std::filesystem::path* path) const;
  };
  explicit TemporaryFolder(const std::filesystem::path& path)
      : path_(new std::filesystem::path(path)) {}

  std::unique_ptr<const std::filesystem::path, Remove> path_;
};

}  // namespace stepscope

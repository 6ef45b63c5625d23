// A folder of its own, private to the user, removed with everything in it.
#pragma once

#include <filesystem>
#include <memory>

#include "store/status.h"

namespace stepscope::cli {

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

}  // namespace stepscope::cli

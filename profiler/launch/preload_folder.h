// A path to the folder of our libraries that works unquoted in LD_PRELOAD, PYTHONPATH and dlopen().
// ld.so splits LD_PRELOAD at spaces and colons and replaces $ORIGIN and the like, and Python splits
// PYTHONPATH at colons; none of them supports quoting.
//
// It is the folder's own path if that works. Otherwise it is a symbolic link in a new folder in
// TMPDIR, /tmp, /dev/shm or /var/tmp. Unlike the socket's, that folder is open to other users: a
// program may change its user, and ld.so would then print that it cannot find the library.
//
// Thread safety: none.
#pragma once

#include <filesystem>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Whether ld.so and Python can be given this path.
bool can_be_preloaded(std::string_view path);

class PreloadFolder {
 public:
  // Errors: kIo if a link is needed and cannot be made anywhere.
  static Result<PreloadFolder> open(const std::filesystem::path& libraries);
  // Removes the link, if any, unless some process still has it in its environment: programs that
  // such a process starts later need it too. Then the link stays until someone removes it.
  ~PreloadFolder();
  PreloadFolder(PreloadFolder&& other) noexcept;
  PreloadFolder& operator=(PreloadFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool is_link() const { return !made_.empty(); }

 private:
  PreloadFolder(std::filesystem::path path, std::filesystem::path made);

  std::filesystem::path path_;
  std::filesystem::path made_;  // the folder that holds the link; empty: there is none
};

}  // namespace stepscope

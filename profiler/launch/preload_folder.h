// A name for the folder of our libraries that LD_PRELOAD, PYTHONPATH and dlopen() take as it is.
// ld.so splits LD_PRELOAD at spaces and colons and replaces $ORIGIN and its like, and Python splits
// PYTHONPATH at colons; none of them has a way to quote.
//
// The name is the folder's own wherever that will do. Otherwise it is a symbolic link in a folder
// that is made for it in TMPDIR, /tmp, /dev/shm or /var/tmp. Unlike the socket's, that folder is
// open to other users: a program may go on as another one, and ld.so would complain in its output
// that it finds no library.
//
// Thread safety: none.
#pragma once

#include <filesystem>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Whether a path can be named to ld.so and Python.
bool can_be_preloaded(std::string_view path);

class PreloadFolder {
 public:
  // Errors: kIo, a link is needed and cannot be made anywhere.
  static Result<PreloadFolder> open(const std::filesystem::path& libraries);
  // Removes the link, if there is one, unless some process still has it in its environment: what
  // that one starts later looks for the library too. Then it stays until somebody cleans up there.
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

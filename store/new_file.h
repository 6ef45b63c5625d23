// Makes files that appear at their path complete or not at all, even if the process is killed.
// Internal to store/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace stepscope {

struct NewFile {
  int fd = -1;    // open for reading and writing, closed on exec; the caller owns it
  int error = 0;  // an errno value; EEXIST: the path is taken; 0: success
};

// What make_file() does if there is a file at the path.
enum class NameTaken : std::uint8_t {
  kRefuse,   // EEXIST
  kReplace,  // the new file replaces it atomically: readers find one or the other
};

// Called before the file gets its name. Returns 0 or an errno value.
using PrepareFile = std::function<int(int fd)>;

// Makes a file with `content` at `path`.
NewFile make_file(const std::filesystem::path& path, std::string_view content,
                  const PrepareFile& prepare, NameTaken taken = NameTaken::kRefuse);

// The same for a file system that has no unnamed files (O_TMPFILE) or cannot name them later. A
// process that is killed meanwhile leaves a PATH.new-… behind.
NewFile make_file_beside(const std::filesystem::path& path, std::string_view content,
                         const PrepareFile& prepare, NameTaken taken = NameTaken::kRefuse);

// Makes a file with `content` in the folder of `path` and removes it again. Returns 0, or the errno
// value with which make_file() would fail.
int try_file(const std::filesystem::path& path, std::string_view content);

}  // namespace stepscope

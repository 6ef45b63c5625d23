// A file that appears at its path whole or not at all, also when the process that makes it is
// killed. Internal to store/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace stepscope {

struct NewFile {
  int fd = -1;    // open for reading and writing, closed by exec; the caller's
  int error = 0;  // of errno; EEXIST: there is something at the path. 0: the file is there
};

// What make_file() does where there is a file at the path.
enum class NameTaken : std::uint8_t {
  kRefuse,   // EEXIST
  kReplace,  // the new one takes its place, in one step: whoever looks finds one or the other
};

// What else is done to it before it has its name: 0, or of errno.
using PrepareFile = std::function<int(int fd)>;

// Makes a file of `content` at `path`.
NewFile make_file(const std::filesystem::path& path, std::string_view content,
                  const PrepareFile& prepare, NameTaken taken = NameTaken::kRefuse);

// The same where the file system has no files without a name, or cannot name them later: a process
// that is killed meanwhile leaves a PATH.new-….
NewFile make_file_beside(const std::filesystem::path& path, std::string_view content,
                         const PrepareFile& prepare, NameTaken taken = NameTaken::kRefuse);

// Makes a file of `content` in the folder of `path` and removes it again; 0, or the error of errno
// that make_file() would meet.
int try_file(const std::filesystem::path& path, std::string_view content);

}  // namespace stepscope

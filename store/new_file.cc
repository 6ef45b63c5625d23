#include "store/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0644;

NewFile failed(int fd, int error) {
  if (fd >= 0) ::close(fd);
  return {-1, error};
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int fill(int fd, std::string_view content, const PrepareFile& prepare) {
  const int error = write_all(fd, content);
  return error != 0 ? error : prepare(fd);
}

// Opens PATH.new-PROCESS-NUMBER, the first that is free; its name comes back in `name`.
int open_beside(const fs::path& path, std::string& name) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    name = path.native() + ".new-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Renames a file; never over another, where the file system can tell.
int give_name(const std::string& from, const fs::path& path) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
  if (::access(path.c_str(), F_OK) == 0) return EEXIST;
  return ::rename(from.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

NewFile make_file(const fs::path& path, std::string_view content, const PrepareFile& prepare) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (fd < 0) {
    const bool unsupported = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
    return unsupported ? make_file_beside(path, content, prepare) : failed(-1, errno);
  }
  if (const int error = fill(fd, content, prepare); error != 0) return failed(fd, error);
  const std::string itself = "/proc/self/fd/" + std::to_string(fd);
  if (::linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return {fd, 0};
  }
  if (errno == EEXIST) return failed(fd, EEXIST);
  ::close(fd);  // no /proc, or a file system without links
  return make_file_beside(path, content, prepare);
}

NewFile make_file_beside(const fs::path& path, std::string_view content,
                         const PrepareFile& prepare) {
  std::string name;
  const int fd = open_beside(path, name);
  if (fd < 0) return failed(fd, errno);
  int error = fill(fd, content, prepare);
  if (error == 0) error = give_name(name, path);
  if (error == 0) return {fd, 0};
  ::unlink(name.c_str());
  return failed(fd, error);
}

}  // namespace stepscope

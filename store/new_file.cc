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

// Calls make(PATH.new-PROCESS-NUMBER) with the first such name that is free, and stores the name in
// `name`. Returns the result of `make`, which is negative, with errno set, if it failed.
template <typename Make>
int make_beside(const fs::path& path, std::string& name, const Make& make) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    name = path.native() + ".new-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int made = make(name.c_str());
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

int open_beside(const fs::path& path, std::string& name) {
  return make_beside(path, name, [](const char* free) {
    return ::open(free, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  });
}

int open_unnamed(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
}

// Whether an error of open_unnamed() means that the file system has no unnamed files.
bool is_unsupported(int error) { return error == EOPNOTSUPP || error == EISDIR || error == EINVAL; }

// Gives an unnamed file its name.
int link_unnamed(int fd, const fs::path& path, NameTaken taken) {
  const std::string itself = "/proc/self/fd/" + std::to_string(fd);
  const auto link_as = [&](const char* name) {
    return ::linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
  };
  if (taken == NameTaken::kRefuse) return link_as(path.c_str()) == 0 ? 0 : errno;
  std::string name;
  if (make_beside(path, name, link_as) < 0) return errno;
  if (::rename(name.c_str(), path.c_str()) == 0) return 0;
  const int error = errno;
  ::unlink(name.c_str());
  return error;
}

// Renames a file. kRefuse never replaces another, if the file system supports RENAME_NOREPLACE.
int give_name(const std::string& from, const fs::path& path, NameTaken taken) {
  if (taken == NameTaken::kReplace) return ::rename(from.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
  if (::access(path.c_str(), F_OK) == 0) return EEXIST;
  return ::rename(from.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

NewFile make_file(const fs::path& path, std::string_view content, const PrepareFile& prepare,
                  NameTaken taken) {
  const int fd = open_unnamed(path);
  if (fd < 0) {
    return is_unsupported(errno) ? make_file_beside(path, content, prepare, taken)
                                 : failed(-1, errno);
  }
  if (const int error = fill(fd, content, prepare); error != 0) return failed(fd, error);
  const int error = link_unnamed(fd, path, taken);
  if (error == 0) return {fd, 0};
  if (error == EEXIST) return failed(fd, EEXIST);
  ::close(fd);  // no /proc, or a file system without links
  return make_file_beside(path, content, prepare, taken);
}

int try_file(const fs::path& path, std::string_view content) {
  int fd = open_unnamed(path);
  std::string name;
  if (fd < 0 && is_unsupported(errno)) fd = open_beside(path, name);
  if (fd < 0) return errno;
  const int error = write_all(fd, content);
  ::close(fd);
  if (!name.empty()) ::unlink(name.c_str());
  return error;
}

NewFile make_file_beside(const fs::path& path, std::string_view content, const PrepareFile& prepare,
                         NameTaken taken) {
  std::string name;
  const int fd = open_beside(path, name);
  if (fd < 0) return failed(fd, errno);
  int error = fill(fd, content, prepare);
  if (error == 0) error = give_name(name, path, taken);
  if (error == 0) return {fd, 0};
  ::unlink(name.c_str());
  return failed(fd, error);
}

}  // namespace stepscope

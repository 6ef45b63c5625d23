#include "viewer-export/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "store/database_file.h"
#include "store/file_rights.h"
#include "store/remove_on_signal.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

Status io_error(const fs::path& path, const char* what) {
  std::string message = path.string() + ": " + what + ": " + std::strerror(errno);
  return Status::error(ErrorKind::kIo, std::move(message));
}

// A separate name for each process, so that two exports to one name do not write into one file.
fs::path partial_name(const fs::path& path) {
  fs::path partial = path;
  partial += ".partial-" + std::to_string(::getpid());
  return partial;
}

// The new file belongs to whom the one before did, as far as the system allows it. Where the file
// system has no rights, this fails.
void keep_rights(int fd, const struct stat& before) {
  static_cast<void>(!::fchown(fd, before.st_uid, static_cast<gid_t>(-1)));
  const mode_t mode = rights_in_group(fd, before.st_gid, before.st_mode & 0777);
  static_cast<void>(::fchmod(fd, mode));
}

// Whether the link is another user's in a folder like /tmp, where anybody may put one. The kernel
// does not follow such links either (fs.protected_symlinks).
bool is_planted(const fs::path& link) {
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  const fs::path folder = link.has_parent_path() ? link.parent_path() : fs::path(".");
  struct stat of_link{};
  struct stat of_folder{};
  if (::lstat(link.c_str(), &of_link) != 0 || ::stat(folder.c_str(), &of_folder) != 0) return false;
  return (of_folder.st_mode & kForAll) == kForAll && of_link.st_uid != ::geteuid() &&
         of_link.st_uid != of_folder.st_uid;
}

// The number of the open file that a path names: /dev/fd/3, /proc/self/fd/3.
std::optional<int> descriptor_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::equivalent(path.parent_path(), "/proc/self/fd", ignored)) return std::nullopt;
  const std::string name = path.filename().string();
  const char* const end = name.data() + name.size();
  int fd = -1;
  const auto [stop, error] = std::from_chars(name.data(), end, fd);
  if (error != std::errc() || stop != end) return std::nullopt;
  return fd;
}

// Where a link leads, also if nothing is there yet. The links of open files are not followed.
Result<fs::path> followed(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  fs::path target = path;
  std::error_code failed;
  for (int i = 0; i < kMostLinks && !descriptor_of(target); ++i) {
    const fs::path next = fs::read_symlink(target, failed);
    if (failed) break;
    if (is_planted(target)) {
      return Status::error(ErrorKind::kIo,
                           path.string() +
                               ": is a link that another user made in a folder that "
                               "all may write to; choose another name");
    }
    target = target.parent_path() / next;  // an absolute path replaces the folder
  }
  return target;
}

}  // namespace

bool is_standard_output(const fs::path& path) {
  if (path == "-") return true;
  const Result<fs::path> target = followed(path);
  return target.ok() && descriptor_of(*target) == STDOUT_FILENO;
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const fs::path& path,
                                                       const std::vector<fs::path>& inputs) {
  using std::unique_ptr;
  if (path == "-")
    return unique_ptr<OutputFile>(new OutputFile("standard output", {}, STDOUT_FILENO));
  if (path.empty()) return Status::error(ErrorKind::kUsage, "the name of the output is empty");

  std::error_code ignored;
  const Result<fs::path> where = followed(path);
  if (!where.ok()) return where.status();
  const fs::path& target = *where;
  if (const auto opened = descriptor_of(target)) {
    // With the position that it has for whoever opened it: what is in the file stays.
    const int fd = ::fcntl(*opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0) return io_error(path, "cannot be written");
    return unique_ptr<OutputFile>(new OutputFile(path, {}, fd));
  }
  const fs::file_status there = fs::status(target, ignored);
  if (fs::is_directory(there)) {
    return Status::error(ErrorKind::kBadInput, path.string() + ": is a folder; name a file in it");
  }
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return io_error(path, "cannot be written");
    return unique_ptr<OutputFile>(new OutputFile(path, {}, fd));
  }
  if (is_database(target)) {
    return Status::error(ErrorKind::kBadInput,
                         path.string() +
                             ": is a database, which an export does not replace; "
                             "choose another name");
  }
  if (Status status = check_side_files(target); !status.ok()) return status;
  const auto is_output = [&](const fs::path& input) {
    return fs::equivalent(input, path, ignored);
  };
  if (std::any_of(inputs.begin(), inputs.end(), is_output))
    return Status::error(ErrorKind::kUsage, path.string() + " is both input and output");
  struct stat before{};
  const bool replaces = ::stat(target.c_str(), &before) == 0;
  if (replaces && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    return io_error(path, "cannot be written");
  fs::path partial = partial_name(target);
  // Never through a link, or into a file that another user has put there: the name can be guessed.
  ::unlink(partial.c_str());
  // Nobody else's from the first moment: a file that is open stays readable.
  const mode_t mode = replaces ? S_IRUSR | S_IWUSR : 0666;
  const int fd =
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return io_error(path, "cannot be written");
  remove_on_signal(partial);
  if (replaces) keep_rights(fd, before);
  return unique_ptr<OutputFile>(new OutputFile(target, std::move(partial), fd));
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  if (fd_ != STDOUT_FILENO) ::close(fd_);
  if (!partial_.empty()) forget_partial(true);
}

void OutputFile::forget_partial(bool remove) {
  if (remove) ::unlink(partial_.c_str());
  keep_on_signal(partial_);
}

Status OutputFile::failed(const char* what) const { return io_error(path_, what); }

Status OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status OutputFile::finish() {
  if (fd_ == STDOUT_FILENO) return {};
  const int fd = std::exchange(fd_, -1);
  Status status;
  // Some file systems report only here that the disk is full.
  if (::close(fd) != 0) status = failed("cannot be written");
  if (partial_.empty()) return status;
  if (status.ok() && ::rename(partial_.c_str(), path_.c_str()) != 0) {
    status = failed("cannot be moved into place");
  }
  forget_partial(!status.ok());
  return status;
}

}  // namespace stepscope

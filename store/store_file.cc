#include "store/store_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/database_file.h"
#include "store/file_rights.h"
#include "store/mutex.h"
#include "store/new_file.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace stepscope {
namespace {

// Far from SQLite's own lock bytes at 1 GiB and from any data.
constexpr off_t kLockBytes = off_t{1} << 62;

struct flock lock_request(StoreLock which, short type) {
  struct flock request{};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = kLockBytes + static_cast<off_t>(which);
  request.l_len = 1;
  return request;
}

Status system_error(const std::filesystem::path& path, int code) {
  const std::string file = path.string();
  switch (code) {
    case ENOENT: {
      if (path.empty()) return Status::error(ErrorKind::kUsage, "the name of the file is empty");
      std::error_code not_a_link;
      const std::filesystem::path target = std::filesystem::read_symlink(path, not_a_link);
      return Status::error(ErrorKind::kNotFound,
                           not_a_link ? file + ": no such file"
                                      : file + ": is a link to " + target.string() +
                                            ", which does not exist; name another file");
    }
    case EISDIR:
      return Status::error(ErrorKind::kBadInput, file + ": is a folder; name a file in it");
    case EACCES:
    case EPERM:
      return Status::error(ErrorKind::kIo, file + ": permission denied; check it and its folder");
    case ENOTDIR:
      return Status::error(ErrorKind::kIo, file + ": its folder is a file; name another folder");
    case EROFS:
      return Status::error(ErrorKind::kIo, file + ": its folder is read-only; name another folder");
    case ENOSPC:
    case EDQUOT:
      return Status::error(ErrorKind::kIo,
                           file + ": the disk is full; free some space or use another disk");
    default:
      return Status::error(ErrorKind::kIo, file + ": " + std::strerror(code));
  }
}

bool current_folder_is_gone() {
  std::error_code error;
  static_cast<void>(std::filesystem::current_path(error));
  return error == std::errc::no_such_file_or_directory;
}

// The error for a file that could not be made.
Status make_error(const std::filesystem::path& path, int code) {
  if (path.is_relative() && current_folder_is_gone()) {
    return Status::error(ErrorKind::kIo,
                         path.string() + ": the current folder was removed; change to another");
  }
  if (code == EEXIST) {
    return Status::error(ErrorKind::kBusy,
                         path.string() + ": another process has just created it; use another file");
  }
  if (code != ENOENT) return system_error(path, code);
  // /proc reports this for its own folders, where nobody can make a file.
  std::error_code ignored;
  const std::filesystem::path folder = path.parent_path();
  const bool there = !folder.empty() && std::filesystem::is_directory(folder, ignored);
  return Status::error(
      ErrorKind::kIo, path.string() + (there ? ": no file can be created there; name another folder"
                                             : ": its folder does not exist; create it"));
}

// Removes a new file again; see StoreFile::replace().
void undo(const std::filesystem::path& path, const std::filesystem::path& before) {
  if (!before.empty() && ::rename(before.c_str(), path.c_str()) == 0) return;
  ::unlink(path.c_str());
}

// Whoever may not read the file that a new one replaces may not read the new one either. Where the
// file system has no rights, this fails.
void keep_from_others(int fd, const std::filesystem::path& replaced) {
  struct stat before{};
  struct stat now{};
  if (::stat(replaced.c_str(), &before) != 0 || ::fstat(fd, &now) != 0) return;
  const mode_t mode = now.st_mode & (before.st_mode | S_IRWXU) & 0777;
  static_cast<void>(::fchmod(fd, rights_in_group(fd, before.st_gid, mode)));
}

int take_both_locks(int fd) {
  for (const StoreLock which : {StoreLock::kRecording, StoreLock::kWriting}) {
    struct flock request = lock_request(which, F_WRLCK);
    if (::fcntl(fd, F_OFD_SETLK, &request) != 0) return errno;
  }
  return 0;
}

const char* busy_text(StoreLock which) {
  switch (which) {
    case StoreLock::kRecording:
      return "a recording is writing to it; wait until the recording ends or use another file";
    case StoreLock::kReplacing:
      return "a recording is about to replace it; wait until the recording ends or use another "
             "file";
    case StoreLock::kWriting:
      break;
  }
  return "another process is writing to it; wait until it has finished or use another file";
}

}  // namespace

// What this process knows about one file. Guarded by the mutex of the registry.
struct StoreFile::Entry {
  std::pair<dev_t, ino_t> key;
  std::vector<int> descriptors;  // the first is used; more only after a race between stat and open
  int users = 0;
  bool held[kStoreLocks] = {};
};

class StoreFile::Registry {
 public:
  static Registry& get() {
    static auto* registry = new Registry;  // never destroyed: a store may be closed at exit
    return *registry;
  }

  Mutex mutex;

  Result<Entry*> open(const std::filesystem::path& path) STEPSCOPE_REQUIRES(mutex) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return system_error(path, errno);
    if (S_ISDIR(info.st_mode)) return system_error(path, EISDIR);
    if (!S_ISREG(info.st_mode)) {
      return Status::error(ErrorKind::kBadInput, path.string() + ": not a regular file");
    }
    if (const auto known = entries_.find({info.st_dev, info.st_ino}); known != entries_.end()) {
      ++known->second.users;
      return &known->second;
    }
    int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return system_error(path, errno);
    return adopt(fd);
  }

  Result<Entry*> create(const std::filesystem::path& path, std::string_view content,
                        const std::filesystem::path& before, NameTaken taken)
      STEPSCOPE_REQUIRES(mutex) {
    const auto prepare = [&path](int fd) {
      keep_from_others(fd, path);
      return take_both_locks(fd);
    };
    const NewFile made = make_file(path, content, prepare, taken);
    if (made.error != 0) return make_error(path, made.error);
    return adopt_new(made.fd, path, before);
  }

  void release(Entry* entry) STEPSCOPE_REQUIRES(mutex) {
    if (--entry->users > 0) return;
    for (const int fd : entry->descriptors) ::close(fd);
    const auto key = entry->key;  // erase() would read it from the entry it destroys
    entries_.erase(key);
  }

 private:
  // A forked child shares its parent's locks through the descriptors. It closes them, so that it
  // cannot keep a dead recorder's store busy. Its StoreFiles can then only be destroyed.
  Registry() { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

  // before_fork() locks the mutex; one of the other two unlocks it.
  static void before_fork() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS { get().mutex.lock(); }
  static void after_fork() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS { get().mutex.unlock(); }
  static void after_fork_in_child() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS {
    for (auto& [key, entry] : get().entries_) {
      for (const int fd : entry.descriptors) ::close(fd);
      entry.descriptors.clear();
    }
    get().mutex.unlock();
  }

  // If there is no memory for the entry, closes the descriptor again.
  Entry* adopt(int fd) STEPSCOPE_REQUIRES(mutex) try {
    struct stat info{};
    ::fstat(fd, &info);
    Entry& entry = entries_[{info.st_dev, info.st_ino}];
    entry.key = {info.st_dev, info.st_ino};
    entry.descriptors.push_back(fd);
    ++entry.users;
    return &entry;
  } catch (...) {
    ::close(fd);
    throw;
  }

  Entry* adopt_new(int fd, const std::filesystem::path& path, const std::filesystem::path& before)
      STEPSCOPE_REQUIRES(mutex) try {
    return adopt(fd);
  } catch (...) {
    undo(path, before);
    throw;
  }

  std::map<std::pair<dev_t, ino_t>, Entry> entries_ STEPSCOPE_GUARDED_BY(mutex);
};

StoreFile::StoreFile(Entry* entry, std::filesystem::path path)
    : entry_(entry), path_(std::move(path)) {}

StoreFile::~StoreFile() { release(); }

StoreFile::StoreFile(StoreFile&& other) noexcept { *this = std::move(other); }

StoreFile& StoreFile::operator=(StoreFile&& other) noexcept {
  if (this == &other) return *this;
  release();
  entry_ = std::exchange(other.entry_, nullptr);
  path_ = std::move(other.path_);
  before_ = std::move(other.before_);
  for (std::size_t i = 0; i < kStoreLocks; ++i) held_[i] = std::exchange(other.held_[i], false);
  is_provisional_ = std::exchange(other.is_provisional_, false);
  return *this;
}

Result<StoreFile> StoreFile::open(const std::filesystem::path& path) {
  if (Status status = check_owner_of_side_files(path); !status.ok()) return status;
  Registry& registry = Registry::get();
  const MutexLock lock(registry.mutex);
  Result<Entry*> entry = registry.open(path);
  if (!entry.ok()) return entry.status();
  return StoreFile(*entry, path);
}

void StoreFile::install_fork_handlers() { Registry::get(); }

Result<StoreFile> StoreFile::create(const std::filesystem::path& path, std::string_view content) {
  return make(path, content, {}, NameTaken::kRefuse);
}

Result<StoreFile> StoreFile::replace(const std::filesystem::path& path, std::string_view content,
                                     const std::filesystem::path& before) {
  return make(path, content, before, NameTaken::kReplace);
}

Result<StoreFile> StoreFile::make(const std::filesystem::path& path, std::string_view content,
                                  const std::filesystem::path& before, NameTaken taken) {
  // Copied before there is a file, which would have to be removed if this threw.
  std::filesystem::path own_path = path, own_before = before;
  Registry& registry = Registry::get();
  const MutexLock lock(registry.mutex);
  Result<Entry*> entry = registry.create(path, content, before, taken);
  if (!entry.ok()) return entry.status();
  StoreFile file(*entry, std::move(own_path));
  file.before_ = std::move(own_before);
  file.is_provisional_ = true;
  for (const StoreLock which : {StoreLock::kRecording, StoreLock::kWriting}) {
    const auto at = static_cast<std::size_t>(which);
    file.held_[at] = (*entry)->held[at] = true;
  }
  return file;
}

Status StoreFile::try_to_make(const std::filesystem::path& path, std::size_t bytes) {
  const int error = try_file(path, std::string(bytes, '\0'));
  return error == 0 ? Status() : make_error(path, error);
}

void StoreFile::release() {
  if (entry_ == nullptr) return;
  if (std::exchange(is_provisional_, false)) undo(path_, before_);
  Registry& registry = Registry::get();
  const MutexLock lock(registry.mutex);
  for (std::size_t i = 0; i < kStoreLocks; ++i) {
    if (!std::exchange(held_[i], false)) continue;
    entry_->held[i] = false;
    struct flock request = lock_request(static_cast<StoreLock>(i), F_UNLCK);
    if (!entry_->descriptors.empty()) ::fcntl(entry_->descriptors[0], F_OFD_SETLK, &request);
  }
  registry.release(std::exchange(entry_, nullptr));
}

Status StoreFile::lock(StoreLock which) {
  const auto busy = [&] {
    return Status::error(ErrorKind::kBusy, path_.string() + ": " + busy_text(which));
  };
  const MutexLock lock(Registry::get().mutex);
  const auto at = static_cast<std::size_t>(which);
  if (entry_->held[at] || entry_->descriptors.empty()) return busy();
  struct flock request = lock_request(which, F_WRLCK);
  if (::fcntl(entry_->descriptors[0], F_OFD_SETLK, &request) != 0) {
    if (errno == EAGAIN || errno == EACCES) return busy();
    // EBADF: the file could be opened for reading only.
    return system_error(path_, errno == EBADF ? EACCES : errno);
  }
  entry_->held[at] = held_[at] = true;
  return {};
}

bool StoreFile::locked(StoreLock which) const {
  const MutexLock lock(Registry::get().mutex);
  if (entry_->held[static_cast<std::size_t>(which)]) return true;
  if (entry_->descriptors.empty()) return false;
  struct flock request = lock_request(which, F_WRLCK);
  return ::fcntl(entry_->descriptors[0], F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

Status StoreFile::check_is_store(StoreKind kind) const {
  std::array<char, kDatabaseHeader> header{};
  const MutexLock lock(Registry::get().mutex);
  const ssize_t read = entry_->descriptors.empty()
                           ? -1
                           : ::pread(entry_->descriptors[0], header.data(), header.size(), 0);
  if (read < 0) return system_error(path_, errno);
  const auto refuse = [&](const char* what) {
    return Status::error(ErrorKind::kBadInput, path_.string() + ": " + what);
  };
  if (read == 0) return refuse("empty, not a Stepscope store; remove it or give another file");
  const auto id = application_id({header.data(), static_cast<std::size_t>(read)});
  if (!id) return refuse("not a Stepscope store; give a file that stepscope made");
  if (id == (kind == StoreKind::kSweep ? kSweepApplicationId : kApplicationId)) return {};
  if (id == kSweepApplicationId) {
    return refuse(
        "a sweep, not a recording; `stepscope sweep show` and `stepscope report` read it");
  }
  if (id == kApplicationId) return refuse("a recording, not a sweep; `stepscope analyze` reads it");
  return refuse("a SQLite database, but not a Stepscope store");
}

bool StoreFile::is_at(const std::filesystem::path& path) const {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && entry_->key == std::pair(info.st_dev, info.st_ino);
}

}  // namespace stepscope

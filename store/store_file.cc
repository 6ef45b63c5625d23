#include "store/store_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/new_file.h"
#include "store/schema.h"

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
    case ENOENT:
      return Status::error(ErrorKind::kNotFound, file + ": no such file");
    case EISDIR:
      return Status::error(ErrorKind::kBadInput, file + ": is a folder; name a file in it");
    case EACCES:
    case EPERM:
      return Status::error(ErrorKind::kIo, file + ": permission denied; check it and its folder");
    case ENOSPC:
    case EDQUOT:
      return Status::error(ErrorKind::kIo,
                           file + ": the disk is full; free some space or use another disk");
    default:
      return Status::error(ErrorKind::kIo, file + ": " + std::strerror(code));
  }
}

int take_both_locks(int fd) {
  for (const StoreLock which : {StoreLock::kRecording, StoreLock::kWriting}) {
    struct flock request = lock_request(which, F_WRLCK);
    if (::fcntl(fd, F_OFD_SETLK, &request) != 0) return errno;
  }
  return 0;
}

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

}  // namespace

// What this process knows of one file. Guarded by the registry's mutex.
struct StoreFile::Entry {
  std::pair<dev_t, ino_t> key;
  std::vector<int> descriptors;  // the first is used; more only after a race between stat and open
  int users = 0;
  bool held[2] = {false, false};
};

class StoreFile::Registry {
 public:
  static Registry& get() {
    static auto* registry = new Registry;  // never destroyed: a store may be closed at exit
    return *registry;
  }

  std::unique_lock<std::mutex> guard() { return std::unique_lock(mutex_); }

  Result<Entry*> open(const std::filesystem::path& path) {
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

  Result<Entry*> create(const std::filesystem::path& path, std::string_view content) {
    const NewFile made = make_file(path, content, take_both_locks);
    if (made.error == 0) return adopt_new(made.fd, path);
    if (made.error == EEXIST) {
      return Status::error(ErrorKind::kBusy,
                           path.string() + ": somebody else has just made it; use another file");
    }
    if (made.error == ENOENT) {
      return Status::error(ErrorKind::kIo, path.string() + ": its folder does not exist; make it");
    }
    return system_error(path, made.error);
  }

  void release(Entry* entry) {
    if (--entry->users > 0) return;
    for (const int fd : entry->descriptors) ::close(fd);
    const auto key = entry->key;  // erase() would read it from the entry it destroys
    entries_.erase(key);
  }

 private:
  // A forked child shares its parent's locks through the descriptors; without them it cannot keep
  // a dead recorder's store busy. Its own StoreFiles are then good for nothing but destruction.
  Registry() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] {
                     for (auto& [key, entry] : get().entries_) {
                       for (const int fd : entry.descriptors) ::close(fd);
                       entry.descriptors.clear();
                     }
                     get().mutex_.unlock();
                   });
  }

  // Without memory for its entry the descriptor is closed again.
  Entry* adopt(int fd) try {
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

  Entry* adopt_new(int fd, const std::filesystem::path& path) try {
    return adopt(fd);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }

  std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, Entry> entries_;
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
  for (int i = 0; i < 2; ++i) held_[i] = std::exchange(other.held_[i], false);
  is_provisional_ = std::exchange(other.is_provisional_, false);
  return *this;
}

Result<StoreFile> StoreFile::open(const std::filesystem::path& path) {
  const auto guard = Registry::get().guard();
  Result<Entry*> entry = Registry::get().open(path);
  if (!entry.ok()) return entry.status();
  return StoreFile(*entry, path);
}

void StoreFile::install_fork_handlers() { Registry::get(); }

Result<StoreFile> StoreFile::create(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path own_path = path;  // before there is a file that would have to go again
  const auto guard = Registry::get().guard();
  Result<Entry*> entry = Registry::get().create(path, content);
  if (!entry.ok()) return entry.status();
  StoreFile file(*entry, std::move(own_path));
  file.is_provisional_ = true;
  for (int i = 0; i < 2; ++i) file.held_[i] = (*entry)->held[i] = true;
  return file;
}

void StoreFile::release() {
  if (entry_ == nullptr) return;
  if (std::exchange(is_provisional_, false)) ::unlink(path_.c_str());
  const auto guard = Registry::get().guard();
  for (int i = 0; i < 2; ++i) {
    if (!std::exchange(held_[i], false)) continue;
    entry_->held[i] = false;
    struct flock request = lock_request(static_cast<StoreLock>(i), F_UNLCK);
    if (!entry_->descriptors.empty()) ::fcntl(entry_->descriptors[0], F_OFD_SETLK, &request);
  }
  Registry::get().release(std::exchange(entry_, nullptr));
}

Status StoreFile::lock(StoreLock which) {
  const auto busy = [&] {
    return Status::error(
        ErrorKind::kBusy,
        path_.string() +
            (which == StoreLock::kRecording ? ": a recording is going on in it; wait for its end"
                                            : ": somebody is writing into it; wait for the end") +
            " or use another file");
  };
  const auto guard = Registry::get().guard();
  const auto at = static_cast<std::size_t>(which);
  if (entry_->held[at] || entry_->descriptors.empty()) return busy();
  struct flock request = lock_request(which, F_WRLCK);
  if (::fcntl(entry_->descriptors[0], F_OFD_SETLK, &request) != 0) {
    if (errno == EAGAIN || errno == EACCES) return busy();
    // EBADF: the file could be opened for reading alone.
    return system_error(path_, errno == EBADF ? EACCES : errno);
  }
  entry_->held[at] = held_[at] = true;
  return {};
}

bool StoreFile::locked(StoreLock which) const {
  const auto guard = Registry::get().guard();
  if (entry_->held[static_cast<std::size_t>(which)]) return true;
  if (entry_->descriptors.empty()) return false;
  struct flock request = lock_request(which, F_WRLCK);
  return ::fcntl(entry_->descriptors[0], F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

Status StoreFile::check_is_store(StoreKind kind) const {
  // https://www.sqlite.org/fileformat2.html, "The Database Header"
  constexpr std::size_t kApplicationIdAt = 68;
  std::array<unsigned char, 100> header{};
  const auto guard = Registry::get().guard();
  const ssize_t read = entry_->descriptors.empty()
                           ? -1
                           : ::pread(entry_->descriptors[0], header.data(), header.size(), 0);
  if (read < 0) return system_error(path_, errno);
  const auto refuse = [&](const char* what) {
    return Status::error(ErrorKind::kBadInput, path_.string() + ": " + what);
  };
  if (read == 0) return refuse("empty, not a Stepscope store; remove it or give another file");
  if (static_cast<std::size_t>(read) < header.size() ||
      std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
    return refuse("not a Stepscope store; give a file that stepscope made");
  }
  const auto is = [id = big_endian(&header[kApplicationIdAt])](std::int32_t wanted) {
    return id == static_cast<std::uint32_t>(wanted);
  };
  if (is(kind == StoreKind::kSweep ? kSweepApplicationId : kApplicationId)) return {};
  if (is(kSweepApplicationId)) {
    return refuse(
        "a sweep, not a recording; `stepscope sweep show` and `stepscope report` read it");
  }
  if (is(kApplicationId)) return refuse("a recording, not a sweep; `stepscope analyze` reads it");
  return refuse("a SQLite database, but not a Stepscope store");
}

bool StoreFile::is_at(const std::filesystem::path& path) const {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && entry_->key == std::pair(info.st_dev, info.st_ino);
}

std::int64_t StoreFile::size() const {
  const auto guard = Registry::get().guard();
  struct stat info{};
  if (entry_->descriptors.empty() || ::fstat(entry_->descriptors[0], &info) != 0) return 0;
  return info.st_size;
}

}  // namespace stepscope

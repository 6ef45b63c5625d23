// The file of a store as the system sees it: whether it exists, whether it is ours, and who is
// using it. SQLite is not involved. Internal to store/.
//
// Three bytes far beyond the data serve as locks: one for recording into the store, one for writing
// to it at all, and one for replacing it. They are open-file-description locks, for three reasons:
// they do not interact with SQLite's own POSIX locks, they are released however the process dies,
// and they survive when SQLite closes its own descriptor.
//
// POSIX locks have a trap: when a process closes *any* descriptor of a file, it loses all its locks
// on that file, SQLite's included, and another process may then remove the write-ahead log.
// Therefore a process has one entry per file, shared by all its StoreFiles, and its descriptor is
// closed with the last of them. So: open a StoreFile before the Database, destroy it after.
//
// Thread safety: the shared entries are guarded by a mutex; one StoreFile belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "store/new_file.h"
#include "store/status.h"

namespace stepscope {

enum class StoreLock : std::uint8_t { kRecording = 0, kWriting = 1, kReplacing = 2 };
inline constexpr std::size_t kStoreLocks = 3;
enum class StoreKind : std::uint8_t { kRecording, kSweep };

class StoreFile {
 public:
  // An existing regular file. Errors: kNotFound, kBadInput (a folder, a device, or side files that
  // are not to be trusted, see check_owner_of_side_files()), kIo.
  static Result<StoreFile> open(const std::filesystem::path& path);
  // Makes a file with `content`, with kRecording and kWriting locked. Others find nothing or the
  // complete file at `path`, even if this process dies meanwhile. The destructor removes the file
  // unless keep() was called. Errors: kBusy (another process has just made one), kIo.
  static Result<StoreFile> create(const std::filesystem::path& path, std::string_view content);
  // The same, atomically replacing the file at `path`. If the new file is removed again, `before`,
  // another name of the former file, is renamed back to `path`; empty: there is none.
  static Result<StoreFile> replace(const std::filesystem::path& path, std::string_view content,
                                   const std::filesystem::path& before);
  // Checks whether create() and replace() could make a file of `bytes`, by making one that nobody
  // sees. Returns their errors.
  static Status try_to_make(const std::filesystem::path& path, std::size_t bytes);
  void keep() { is_provisional_ = false; }
  // The opposite of keep().
  void discard() { is_provisional_ = true; }

  // Locks the shared entries around fork(). A caller that uses the store under a lock of its own
  // must install its fork handlers after these; otherwise the two locks are taken in both orders.
  static void install_fork_handlers();

  StoreFile() = default;
  ~StoreFile();  // releases its locks
  StoreFile(StoreFile&& other) noexcept;
  StoreFile& operator=(StoreFile&& other) noexcept;

  // kBusy if anybody else, in this process or another, holds it.
  Status lock(StoreLock which);
  // Whether anybody holds it, *this included.
  [[nodiscard]] bool locked(StoreLock which) const;

  // kBadInput unless the file begins like a Stepscope store of this kind (of any schema version).
  Status check_is_store(StoreKind kind = StoreKind::kRecording) const;
  // Whether `path` still leads to this file.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const;

 private:
  struct Entry;
  class Registry;
  StoreFile(Entry* entry, std::filesystem::path path);
  static Result<StoreFile> make(const std::filesystem::path& path, std::string_view content,
                                const std::filesystem::path& before, NameTaken taken);
  void release();

  Entry* entry_ = nullptr;
  std::filesystem::path path_;
  std::filesystem::path before_;  // see replace()
  bool held_[kStoreLocks] = {};
  bool is_provisional_ = false;
};

}  // namespace stepscope

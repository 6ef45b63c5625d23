// The file of a store as the system sees it: there or not, ours or not, in whose hands. SQLite has
// no part in this. Internal to store/.
//
// Three bytes far behind the data serve as locks: one is held by whoever records into the store,
// one by whoever writes into it at all, one by whoever is going to replace it. They are
// open-file-description locks, for three reasons: SQLite's own POSIX locks leave them alone, they
// go away with the process however it dies, and they do not fall when SQLite closes its own
// descriptor.
//
// POSIX locks have a trap: when a process closes *any* descriptor of a file, it loses all its locks
// on that file, SQLite's included, and another process may then take the write-ahead log away.
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
  // An existing regular file. Errors: kNotFound, kBadInput (a folder, a device), kIo.
  static Result<StoreFile> open(const std::filesystem::path& path);
  // A new file that holds `content`, with both locks held. Whoever looks at `path` finds nothing or
  // all of it, also when this process dies meanwhile. It goes again with the StoreFile unless
  // keep() is called. Errors: kBusy (somebody made one just now), kIo.
  static Result<StoreFile> create(const std::filesystem::path& path, std::string_view content);
  // The same in the place of the file at `path`, in one step. If the new file goes again, `before`,
  // another name of the former file, becomes `path` again; empty: there is none.
  static Result<StoreFile> replace(const std::filesystem::path& path, std::string_view content,
                                   const std::filesystem::path& before);
  // Whether create() and replace() could make a file of `bytes`, found out by making one that
  // nobody sees. Their errors.
  static Status try_to_make(const std::filesystem::path& path, std::size_t bytes);
  void keep() { is_provisional_ = false; }
  // The opposite of keep().
  void discard() { is_provisional_ = true; }

  // Around fork() the shared entries are locked. Handlers of whoever calls into the store under a
  // lock of their own must be installed after these, or the two locks are taken in both orders.
  static void install_fork_handlers();

  StoreFile() = default;
  ~StoreFile();  // releases its locks
  StoreFile(StoreFile&& other) noexcept;
  StoreFile& operator=(StoreFile&& other) noexcept;

  // kBusy when anybody else, in this process or another, holds it.
  Status lock(StoreLock which);
  // Whether anybody does, *this included.
  [[nodiscard]] bool locked(StoreLock which) const;

  // kBadInput unless the file begins as a Stepscope store of this kind does (of any schema
  // version).
  Status check_is_store(StoreKind kind = StoreKind::kRecording) const;
  // Whether `path` still leads to this file.
  [[nodiscard]] bool is_at(const std::filesystem::path& path) const;
  [[nodiscard]] std::int64_t size() const;

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

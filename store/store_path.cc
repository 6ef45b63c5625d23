#include "store/store_path.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "store/sqlite.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

fs::path with_suffix(const fs::path& path, const char* suffix) {
  return fs::path(path.native() + suffix);
}

Status lock_both(StoreFile& file) {
  // In this order everywhere; the recording lock first, because its message says more.
  if (Status status = file.lock(StoreLock::kRecording); !status.ok()) return status;
  return file.lock(StoreLock::kWriting);
}

// PATH.old may only be what an earlier recording left there.
Status check_replaceable(const fs::path& old, StoreKind kind) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(old, code))) return {};
  const Result<StoreFile> file = StoreFile::open(old);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(kind); !status.ok()) {
    return Status::error(ErrorKind::kBadInput,
                         status.message() + " (the earlier recording would replace it)");
  }
  if (file->locked(StoreLock::kRecording) || file->locked(StoreLock::kWriting)) {
    return Status::error(ErrorKind::kBusy, old.string() + ": somebody is writing into it");
  }
  return {};
}

// A log or journal beside PATH.old belongs to the store that is about to go, and would be applied
// to the one that takes its name.
void remove_logs(const fs::path& path) {
  std::error_code ignored;
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    fs::remove(with_suffix(path, suffix), ignored);
  }
}

// Renames the store at `path`, which `file` has locked, to PATH.old. First its write-ahead log or
// journal (its recorder was killed) is folded in: they go by the name of the file.
Status move_aside(const fs::path& path, StoreKind kind) {
  const fs::path old = with_suffix(path, ".old");
  if (Status status = check_replaceable(old, kind); !status.ok()) return status;
  // Open until the rename is done, so that the lock on the file is SQLite's as well as ours.
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  const Result<std::int64_t> read = database->query_int("PRAGMA user_version");
  if (!read.ok()) return read.status();
  if (Status status = database->exec("PRAGMA journal_mode = DELETE"); !status.ok()) {
    return status;  // kBusy: a reader still needs the log under its name
  }
  remove_logs(old);
  if (::rename(path.c_str(), old.c_str()) != 0) {
    return Status::error(ErrorKind::kIo, path.string() + ": cannot be renamed to " + old.string() +
                                             ": " + std::strerror(errno));
  }
  return {};
}

Status retire(const fs::path& path, ExistingStore existing, StoreKind kind) {
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  // Before its content: a recording that begins just now has written nothing yet.
  if (file->locked(StoreLock::kRecording)) return file->lock(StoreLock::kRecording);
  if (Status status = file->check_is_store(kind); !status.ok()) return status;
  if (existing == ExistingStore::kRefuse) {
    return Status::error(ErrorKind::kBadInput,
                         path.string() + ": there is a store already; use another file");
  }
  if (Status status = lock_both(*file); !status.ok()) return status;
  // Whoever held the lock before us may have renamed the file meanwhile and begun a new one.
  if (!file->is_at(path)) {
    return Status::error(ErrorKind::kBusy, path.string() + ": somebody else has just replaced it");
  }
  return move_aside(path, kind);
}

bool is_taken(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

}  // namespace

Status check_path(const fs::path& path) {
  if (!is_taken(path)) return {};
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (file->locked(StoreLock::kRecording)) return file->lock(StoreLock::kRecording);
  if (Status status = file->check_is_store(); !status.ok()) return status;
  return check_replaceable(with_suffix(path, ".old"), StoreKind::kRecording);
}

Status move_store(const fs::path& from, const fs::path& path) {
  if (is_taken(path)) {
    const Status status = retire(path, ExistingStore::kKeepAsOld, StoreKind::kRecording);
    if (!status.ok()) return status;
  }
  if (::rename(from.c_str(), path.c_str()) == 0) return {};
  return Status::error(ErrorKind::kIo, path.string() + ": " + std::strerror(errno));
}

Result<StoreFile> claim_path(const fs::path& path, ExistingStore existing, std::string_view content,
                             StoreKind kind) {
  if (is_taken(path)) {
    if (Status status = retire(path, existing, kind); !status.ok()) return status;
  }
  Result<StoreFile> file = StoreFile::create(path, content);
  if (!file.ok()) return file;
  // Logs without their file: somebody removed a store by hand. Nothing can be read from them.
  remove_logs(path);
  return file;
}

}  // namespace stepscope

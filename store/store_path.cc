#include "store/store_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "store/database_file.h"
#include "store/events.h"
#include "store/sqlite.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

fs::path with_suffix(const fs::path& path, const char* suffix) {
  return fs::path(path.native() + suffix);
}

bool is_taken(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

Status lock_all(StoreFile& file) {
  // In this order everywhere; the recording lock first, because its message says more.
  for (const StoreLock which : {StoreLock::kRecording, StoreLock::kReplacing, StoreLock::kWriting})
    if (Status status = file.lock(which); !status.ok()) return status;
  return {};
}

// Checks that PATH.old is free, or is a store that nobody writes to.
Status check_replaceable(const fs::path& old, StoreKind kind) {
  if (!is_taken(old)) return {};
  const Result<StoreFile> file = StoreFile::open(old);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(kind); !status.ok()) {
    return Status::error(ErrorKind::kBadInput,
                         status.message() + " (the earlier recording would replace it)");
  }
  if (file->locked(StoreLock::kRecording) || file->locked(StoreLock::kWriting)) {
    return Status::error(ErrorKind::kBusy, old.string() + ": another process is writing to it");
  }
  return {};
}

// Removes the log and journal of a file that is gone or about to be replaced: they would be applied
// to the store that takes its name. Error: in a folder that others can write to, they may be
// theirs.
Status remove_logs(const fs::path& path) {
  for (const char* suffix : kSideFileSuffixes) {
    const fs::path side = with_suffix(path, suffix);
    std::error_code code;
    fs::remove(side, code);
    if (!code || !is_taken(side)) continue;
    return Status::error(ErrorKind::kBadInput,
                         side.string() +
                             ": is in the way, because SQLite would use it, and cannot be "
                             "removed (" +
                             code.message() + "); choose another name");
  }
  return {};
}

std::string number_of(PhaseKind kind) { return std::to_string(static_cast<int>(kind)); }

// Whether a recording has no events at all, because its program failed to start. False for a store
// that cannot be read, because it may have some.
bool is_empty_recording(Database& database) {
  for (const char* table : {"op", "phase", "api_call", "kernel", "copy", "memset", "sync"}) {
    const std::string name(table);
    const auto known = database.query_int(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + name + "'");
    if (!known.ok()) return false;
    if (*known == 0) continue;  // an older schema
    // The profiler's own marks: ops are recorded from here on, or no longer.
    const std::string where = name == "phase"
                                  ? " WHERE kind NOT IN (" + number_of(PhaseKind::kOpsBegin) +
                                        ", " + number_of(PhaseKind::kOpsEnd) + ")"
                                  : "";
    const auto any = database.query_int("SELECT EXISTS (SELECT 1 FROM " + name + where + ")");
    if (!any.ok() || *any != 0) return false;
  }
  return true;
}

// Whether both names lead to one file: a process was killed between keeping it and replacing it.
bool are_one_file(const fs::path& path, const fs::path& other) {
  struct stat one{}, two{};
  return ::lstat(path.c_str(), &one) == 0 && ::lstat(other.c_str(), &two) == 0 &&
         S_ISREG(one.st_mode) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// Atomically makes `old` another name of the file at `path`; on a file system without hard links,
// its only name.
Status keep_as(const fs::path& path, const fs::path& old) {
  const fs::path link = with_suffix(old, ("-" + std::to_string(::getpid())).c_str());
  ::unlink(link.c_str());
  const bool linked = ::link(path.c_str(), link.c_str()) == 0;
  if (::rename((linked ? link : path).c_str(), old.c_str()) == 0) return {};
  const int error = errno;
  if (linked) ::unlink(link.c_str());
  return Status::error(ErrorKind::kIo, path.string() + ": cannot be renamed to " + old.string() +
                                           ": " + std::strerror(error));
}

// A file that is about to be replaced: locked, and kept as `old`. It is still at its path, too,
// except on a file system without hard links.
struct Retired {
  StoreFile file;
  fs::path old;  // empty: it is not kept
};

// Folds the write-ahead log or journal that a killed recorder left into its store: SQLite finds
// them by the name of the file. The returned database keeps the file locked for SQLite as well as
// for us.
Result<Database> fold_logs_in(const fs::path& path) {
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database;
  const Result<std::int64_t> read = database->query_int("PRAGMA user_version");
  if (!read.ok()) return read.status();
  // kBusy: a reader still needs the log under its current name.
  if (Status status = database->exec("PRAGMA journal_mode = DELETE"); !status.ok()) return status;
  return database;
}

// Keeps the store at `path`, which is locked, as PATH.old.
Result<fs::path> keep_as_old(const fs::path& path, StoreKind kind) {
  const fs::path old = with_suffix(path, ".old");
  const bool is_old = are_one_file(path, old);
  if (Status status = is_old ? Status() : check_replaceable(old, kind); !status.ok()) {
    return status;
  }
  Result<Database> database = fold_logs_in(path);
  if (!database.ok()) return database.status();
  if (is_old) return old;
  // A failed start must not push a good recording out of PATH.old.
  if (kind == StoreKind::kRecording && is_taken(old) && is_empty_recording(*database)) {
    return fs::path();
  }
  if (Status status = remove_logs(old); !status.ok()) return status;
  if (Status status = keep_as(path, old); !status.ok()) return status;
  return old;
}

Result<Retired> retire(const fs::path& path, ExistingStore existing, StoreKind kind) {
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  // Checked before the content: a recording that has just begun has written nothing yet.
  if (file->locked(StoreLock::kRecording)) return file->lock(StoreLock::kRecording);
  if (Status status = file->check_is_store(kind); !status.ok()) return status;
  if (existing == ExistingStore::kRefuse) {
    return Status::error(ErrorKind::kBadInput,
                         path.string() + ": already exists; use another file");
  }
  if (Status status = lock_all(*file); !status.ok()) return status;
  // The previous holder of the lock may have put a new file there meanwhile.
  if (!file->is_at(path)) {
    return Status::error(ErrorKind::kBusy,
                         path.string() + ": another process has just replaced it");
  }
  Result<fs::path> old = keep_as_old(path, kind);
  if (!old.ok()) return old.status();
  return Retired{*std::move(file), *std::move(old)};
}

}  // namespace

Status check_path(const fs::path& path) {
  if (Status status = check_name_length(path); !status.ok()) return status;
  if (Status status = check_side_files(path); !status.ok()) return status;
  if (!is_taken(path)) return {};
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  for (const StoreLock which : {StoreLock::kRecording, StoreLock::kReplacing})
    if (file->locked(which)) return file->lock(which);
  if (Status status = file->check_is_store(); !status.ok()) return status;
  const fs::path old = with_suffix(path, ".old");
  return are_one_file(path, old) ? Status() : check_replaceable(old, StoreKind::kRecording);
}

Result<std::optional<StoreFile>> claim_existing(const fs::path& path) {
  // About the size of a new store: a full disk should be reported before the program starts.
  constexpr std::size_t kNewStoreBytes = std::size_t{4} << 20;
  if (Status status = check_path(path); !status.ok()) return status;
  if (!is_taken(path)) return std::optional<StoreFile>();
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (Status status = file->lock(StoreLock::kReplacing); !status.ok()) return status;
  if (const auto folded = fold_logs_in(path); !folded.ok()) return folded.status();
  if (Status status = StoreFile::try_to_make(path, kNewStoreBytes); !status.ok()) return status;
  return std::optional(*std::move(file));
}

Status move_store(const fs::path& from, const fs::path& path) {
  if (Status status = check_side_files(path); !status.ok()) return status;
  std::optional<Retired> retired;  // locked until the new file is in its place
  if (is_taken(path)) {
    auto before = retire(path, ExistingStore::kKeepAsOld, StoreKind::kRecording);
    if (!before.ok()) return before.status();
    retired = *std::move(before);
  } else if (Status status = remove_logs(path); !status.ok()) {
    return status;
  }
  if (::rename(from.c_str(), path.c_str()) == 0) return {};
  return Status::error(ErrorKind::kIo, path.string() + ": " + std::strerror(errno));
}

Result<StoreFile> claim_path(const fs::path& path, ExistingStore existing, std::string_view content,
                             StoreKind kind) {
  if (Status status = check_side_files(path); !status.ok()) return status;
  if (is_taken(path)) {
    const auto retired = retire(path, existing, kind);  // locked until the new file is in its place
    if (!retired.ok()) return retired.status();
    return StoreFile::replace(path, content, retired->old);
  }
  Result<StoreFile> file = StoreFile::create(path, content);
  if (!file.ok()) return file;
  // Logs without their file are left if somebody removed a store by hand. They are of no use.
  if (Status status = remove_logs(path); !status.ok()) return status;
  return file;
}

}  // namespace stepscope

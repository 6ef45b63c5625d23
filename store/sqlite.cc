#include "store/sqlite.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include "store/absolute_path.h"
#include "store/limits.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// SQLite's URI form of a path: '?', '#' and '%' mean something there.
std::string uri_of(const std::filesystem::path& path, const char* options) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : absolute_path(path).string()) {
    if (c == '?' || c == '#' || c == '%') {
      const auto byte = static_cast<unsigned char>(c);
      uri.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    } else {
      uri.push_back(c);
    }
  }
  return uri + '?' + options;
}

// How often a query is checked against its limit, in steps of SQLite's virtual machine.
constexpr int kStepsBetweenLooks = 10'000;

// What the texts of a schema and our statements need, with some room. Most of these limits bound
// what a file's schema may demand of SQLite's parser.
constexpr std::pair<int, int> kLimits[] = {
    {SQLITE_LIMIT_LENGTH, static_cast<int>(kLongestText)},
    {SQLITE_LIMIT_SQL_LENGTH, 100'000},
    {SQLITE_LIMIT_COLUMN, 128},
    {SQLITE_LIMIT_EXPR_DEPTH, 100},
    {SQLITE_LIMIT_COMPOUND_SELECT, 50},
    {SQLITE_LIMIT_VDBE_OP, 25'000},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

constexpr std::pair<int, int> kSwitches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
};

std::int64_t size_with_log(const std::filesystem::path& path) {
  std::int64_t size = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code code;
    const std::uintmax_t bytes =
        std::filesystem::file_size(std::filesystem::path(path.native() + suffix), code);
    if (!code) size += static_cast<std::int64_t>(bytes);
  }
  return size;
}

constexpr char kGone[] = "was deleted or moved while it was in use; give an existing file";

bool is_gone(const std::string& file) {
  std::error_code code;
  return !std::filesystem::exists(std::filesystem::symlink_status(file, code));
}

Status error_of(sqlite3* handle) {
  const char* file = sqlite3_db_filename(handle, "main");
  return sqlite_status(sqlite3_extended_errcode(handle), file != nullptr ? file : "the store",
                       sqlite3_errmsg(handle));
}

}  // namespace

Status sqlite_status(int code, const std::string& file, const char* detail) {
  const auto error = [&](ErrorKind kind, const std::string& what) {
    return Status::error(kind, file + ": " + what);
  };
  // A file that SQLite reports as read-only or unreadable may have been removed while in use.
  const bool gone = code == SQLITE_READONLY_DBMOVED || is_gone(file);
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return error(ErrorKind::kIo, "the disk is full; free some space or use another disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ErrorKind::kBusy, "another program is using it; try again when that has ended");
    case SQLITE_CORRUPT:
      return error(ErrorKind::kBadInput,
                   "damaged (" + std::string(detail) + "); use another copy or record again");
    case SQLITE_NOTADB:
      return error(ErrorKind::kBadInput, "not a Stepscope store; give a file that stepscope made");
    case SQLITE_INTERRUPT:
      return error(
          ErrorKind::kBadInput,
          "damaged (reading it takes more steps than a file of its size can need); use another "
          "copy or record again");
    case SQLITE_TOOBIG:
      return error(ErrorKind::kBadInput, "a text in it is longer than " +
                                             std::to_string(kLongestText >> 20) +
                                             " MiB, the limit of a store; record again");
    case SQLITE_NOMEM:
      return error(ErrorKind::kIo,
                   "out of memory while reading it; free some memory and try again");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      if (gone) return error(ErrorKind::kNotFound, kGone);
      return error(ErrorKind::kIo,
                   "not writable; check the permissions of the file and its folder");
    case SQLITE_CANTOPEN:
      // SQLite says only that it cannot open a file whose journal has too long a name.
      if (Status status = check_name_length(file); !status.ok()) return status;
      if (gone) return error(ErrorKind::kNotFound, kGone);
      return error(ErrorKind::kIo,
                   "cannot be opened; check the permissions of the file and its folder");
    case SQLITE_IOERR:
      if (gone) return error(ErrorKind::kNotFound, kGone);
      return error(ErrorKind::kIo, "the system refused to read or write it (" +
                                       std::string(detail) + "); check the disk and its limits");
    default:
      return error(ErrorKind::kIo,
                   "SQLite says: " + std::string(detail) + " (code " + std::to_string(code) + ")");
  }
}

Status check_name_length(const std::filesystem::path& path) {
  constexpr std::string_view kSuffix = "-journal";
  if (path.filename().native().size() + kSuffix.size() <= NAME_MAX) return {};
  return Status::error(ErrorKind::kIo, path.string() + ": " + std::strerror(ENAMETOOLONG) +
                                           " (SQLite adds -journal to it); shorten it");
}

Result<Database> Database::open(const std::filesystem::path& path, int flags,
                                const char* uri_options) {
  return open_named(uri_of(path, uri_options), path, flags | SQLITE_OPEN_URI);
}

Result<Database> Database::in_memory(const std::filesystem::path& path) {
  return open_named(":memory:", path, SQLITE_OPEN_READWRITE);
}

Result<std::string> Database::image() {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(handle(), "main", &size, 0);
  if (bytes == nullptr) {
    return Status::error(ErrorKind::kIo, path_.string() + ": not enough memory for a new store");
  }
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Result<Database> Database::open_named(const std::string& name, const std::filesystem::path& path,
                                      int flags) {
  sqlite3* handle = nullptr;
  // No mutex: a Database belongs to one thread at a time.
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.handle_.reset(handle);  // SQLite requires a close even after a failed open
  database.path_ = path;
  if (code != SQLITE_OK) return sqlite_status(code, path.string(), sqlite3_errstr(code));
  sqlite3_extended_result_codes(handle, 1);
  database.set_lock_patience(kLockPatience);
  return database;
}

void Database::set_lock_patience(std::chrono::milliseconds patience) {
  sqlite3_busy_timeout(handle(), static_cast<int>(patience.count()));
}

struct Database::Work {
  std::int64_t left = 0;
};

void Database::Forget::operator()(Work* work) const { delete work; }

Result<Database> Database::open_untrusted(const std::filesystem::path& path, int flags,
                                          const char* uri_options) {
  Result<Database> database = open(path, flags, uri_options);
  if (!database.ok()) return database;
  if (Status status = database->distrust(); !status.ok()) return status;
  return database;
}

Status Database::distrust() {
  for (const auto& [limit, value] : kLimits) sqlite3_limit(handle(), limit, value);
  for (const auto& [option, value] : kSwitches) {
    if (sqlite3_db_config(handle(), option, value, nullptr) != SQLITE_OK) return error();
  }
  work_.reset(new Work);
  allow_work();
  sqlite3_progress_handler(
      handle(), kStepsBetweenLooks,
      [](void* work) {
        std::int64_t& left = static_cast<Work*>(work)->left;
        left -= kStepsBetweenLooks;
        return left < 0 ? 1 : 0;
      },
      work_.get());
  return exec("PRAGMA cell_size_check = ON");
}

// Called again for each statement, because the file may grow.
void Database::allow_work() {
  if (work_ == nullptr) return;
  constexpr std::int64_t kMax = INT64_MAX / 2;
  const std::int64_t size = size_with_log(path_);
  work_->left =
      size > kMax / kQueryStepsPerByte ? kMax : std::max(kMinQuerySteps, size * kQueryStepsPerByte);
}

Status Database::exec(const char* sql) {
  allow_work();
  return sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK ? Status() : error();
}

Status Database::check_whole() {
  const Result<std::int64_t> pages = query_int("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const Result<std::int64_t> page_size = query_int("PRAGMA page_size");
  if (!page_size.ok()) return page_size.status();
  // Looked for after the page count: pages that came from a log are still there, or in the file.
  std::error_code code;
  const auto log_size = std::filesystem::file_size(path_.native() + "-wal", code);
  if (!code && log_size > 0) return {};
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  int result = sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result == SQLITE_OK) result = file->pMethods->xFileSize(file, &size);
  if (result != SQLITE_OK) return sqlite_status(result, path_.string(), sqlite3_errstr(result));
  const std::int64_t whole = *pages * *page_size;
  if (size >= whole) return {};
  return Status::error(ErrorKind::kBadInput, path_.string() + ": cut off, " + std::to_string(size) +
                                                 " of " + std::to_string(whole) +
                                                 " bytes are there; copy it again");
}

Result<Statement> Database::prepare(std::string_view sql) {
  allow_work();
  sqlite3_stmt* stmt = nullptr;
  const int code = sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  if (code != SQLITE_OK) return error();
  Statement statement;
  statement.stmt_.reset(stmt);
  return statement;
}

Result<std::int64_t> Database::query_int(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const Result<bool> row = statement->next();
  if (!row.ok()) return row.status();
  return statement->integer(0);
}

Result<std::string> Database::query_text(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const Result<bool> row = statement->next();
  if (!row.ok()) return row.status();
  return statement->text(0);
}

Status Database::error() const {
  return sqlite_status(sqlite3_extended_errcode(handle()), path_.string(),
                       sqlite3_errmsg(handle()));
}

Result<bool> Statement::next() {
  const int code = step();
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  const Status status = error();
  reset();
  return status;
}

Status Statement::error() const { return error_of(sqlite3_db_handle(stmt())); }

Status Statement::finish() {
  const int code = step();
  const Status status = code == SQLITE_DONE || code == SQLITE_ROW ? Status() : error();
  reset();
  return status;
}

std::string Statement::text(int at) const {
  const unsigned char* data = sqlite3_column_text(stmt(), at);
  if (data == nullptr) return {};
  const std::string_view text(reinterpret_cast<const char*>(data),
                              static_cast<std::size_t>(sqlite3_column_bytes(stmt(), at)));
  return is_clean_utf8(text) ? std::string(text) : clean_utf8(text);
}

}  // namespace stepscope

#include "store/sqlite.h"

#include <utility>

namespace stepscope {
namespace {

// How long a call waits for another program's transaction: readers hold a lock for the length of a
// query, an analysis for that of its commit.
constexpr int kBusyTimeoutMs = 2000;

// SQLite's URI form of a path: '?', '#' and '%' mean something there.
std::string uri_of(const std::filesystem::path& path, const char* options) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '?' || c == '#' || c == '%') {
      const auto byte = static_cast<unsigned char>(c);
      uri.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    } else {
      uri.push_back(c);
    }
  }
  return uri + '?' + options;
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
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return error(ErrorKind::kIo, "the disk is full; free some space or use another disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ErrorKind::kBusy, "another program is using it; try again when that has ended");
    case SQLITE_CORRUPT:
      return error(ErrorKind::kBadInput, "damaged (" + std::string(detail) +
                                             "); take a copy from elsewhere or record again");
    case SQLITE_NOTADB:
      return error(ErrorKind::kBadInput, "not a Stepscope store; give a file that stepscope made");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return error(ErrorKind::kIo,
                   "not writable; check the permissions of the file and its folder");
    case SQLITE_CANTOPEN:
      return error(ErrorKind::kIo, "cannot be opened; check the permissions of it and its folder");
    case SQLITE_IOERR:
      return error(ErrorKind::kIo, "the system refused to read or write it (" +
                                       std::string(detail) + "); check the disk and its limits");
    default:
      return error(ErrorKind::kIo,
                   "SQLite says: " + std::string(detail) + " (code " + std::to_string(code) + ")");
  }
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
    return Status::error(ErrorKind::kIo, path_.string() + ": no memory for a new store");
  }
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Result<Database> Database::open_named(const std::string& name, const std::filesystem::path& path,
                                      int flags) {
  sqlite3* handle = nullptr;
  // No mutex: a Database belongs to one thread at a time.
  const int code =
      sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.handle_.reset(handle);  // SQLite wants a close even after a failed open
  database.path_ = path;
  if (code != SQLITE_OK) return sqlite_status(code, path.string(), sqlite3_errstr(code));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Status Database::exec(const char* sql) {
  return sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK ? Status() : error();
}

Result<Statement> Database::prepare(std::string_view sql) {
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
  return {reinterpret_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(stmt(), at))};
}

}  // namespace stepscope

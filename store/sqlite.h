// SQLite with RAII and our Status: only what store/ needs. Internal to store/.
//
// Thread safety: none; a Database and its Statements belong to one thread at a time.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// The first bytes of every database; https://www.sqlite.org/fileformat2.html, "The Database
// Header".
inline constexpr std::string_view kDatabaseMagic = "SQLite format 3";

// A reader holds a lock for the duration of a query, an analysis for that of its commit.
inline constexpr std::chrono::milliseconds kLockPatience{2000};

class Statement;

class Database {
 public:
  // `flags`: SQLITE_OPEN_…; the file is never created. `uri_options`: "immutable=1", "mode=memory"
  // or nothing.
  static Result<Database> open(const std::filesystem::path& path, int flags,
                               const char* uri_options = "");
  // The same for an untrusted file. Its content cannot make SQLite run code (views, triggers,
  // functions in its schema), load a text of more than kLongestText, or search forever: a statement
  // that takes more steps than the size of the file explains fails with kBadInput.
  static Result<Database> open_untrusted(const std::filesystem::path& path, int flags,
                                         const char* uri_options = "");

  // A database in memory. `path`: its name in errors.
  static Result<Database> in_memory(const std::filesystem::path& path);

  // How long a call waits for another program's lock: kLockPatience unless set.
  void set_lock_patience(std::chrono::milliseconds patience);

  // The bytes of a file with this database.
  Result<std::string> image();

  // Runs statements that return nothing of interest.
  Status exec(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row; an error when there is no row.
  Result<std::int64_t> query_int(std::string_view sql);
  Result<std::string> query_text(std::string_view sql);

  // kBadInput if the end of the last page is missing: SQLite would read zeros there. Passes if the
  // write-ahead log is not empty, because it may have the rest.
  Status check_whole();

  // Restricts a database that was opened by other means as open_untrusted() does.
  Status distrust();

  // The last error of this connection, as a message about the file.
  [[nodiscard]] Status error() const;
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  static Result<Database> open_named(const std::string& name, const std::filesystem::path& path,
                                     int flags);

  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  // How many more steps a query may take; the connection points to it.
  struct Work;
  struct Forget {
    void operator()(Work* work) const;
  };
  void allow_work();

  std::unique_ptr<Work, Forget> work_;  // null: the file is trusted
  std::unique_ptr<sqlite3, Close> handle_;
  std::filesystem::path path_;
};

// The Status for a result code of SQLite: `file` is its name in the message.
Status sqlite_status(int code, const std::string& file, const char* detail);

// kIo if the name leaves no room for the suffix of its journal, so that SQLite cannot open the
// file.
Status check_name_length(const std::filesystem::path& path);

// A prepared statement. bind() and run() take int64, double, text and nullopt (NULL); parameters
// are numbered from 1. Bound text must live until the statement has run.
class Statement {
 public:
  Statement() = default;

  void bind(int at, std::int64_t value) { sqlite3_bind_int64(stmt(), at, value); }
  void bind(int at, double value) { sqlite3_bind_double(stmt(), at, value); }
  void bind(int at, std::string_view value) {
    // An empty view may have no data at all, which SQLite would take for NULL.
    sqlite3_bind_text64(stmt(), at, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
  }
  void bind(int at, std::nullopt_t) { sqlite3_bind_null(stmt(), at); }
  template <typename T>
  void bind(int at, const std::optional<T>& value) {
    value ? bind(at, *value) : bind(at, std::nullopt);
  }

  // Binds all parameters, runs to the end, and is ready for the next run.
  template <typename... Values>
  Status run(const Values&... values) {
    [[maybe_unused]] int at = 0;
    (bind(++at, values), ...);
    return finish();
  }

  // True: there is a row. False: no more rows; the statement is ready to run again.
  Result<bool> next();
  // As next(), but returns SQLite's result code: for loops over millions of rows.
  int step() { return sqlite3_step(stmt()); }
  void reset() { sqlite3_reset(stmt()); }
  [[nodiscard]] Status error() const;

  [[nodiscard]] sqlite3_stmt* handle() const { return stmt_.get(); }

  // Columns of the current row, from 0.
  [[nodiscard]] std::int64_t integer(int at) const { return sqlite3_column_int64(stmt(), at); }
  // `otherwise` for NULL, and for what is no number.
  [[nodiscard]] std::int64_t integer_or(int at, std::int64_t otherwise) const {
    sqlite3_value* const value = sqlite3_column_value(stmt(), at);  // looks the column up once
    const int type = sqlite3_value_type(value);
    const bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return is_number ? sqlite3_value_int64(value) : otherwise;
  }
  // As it is stored, for RowCheck.
  [[nodiscard]] sqlite3_value* value(int at) const { return sqlite3_column_value(stmt(), at); }
  [[nodiscard]] double real(int at) const { return sqlite3_column_double(stmt(), at); }
  // "" for NULL. Valid UTF-8 without U+0000, whatever the file holds.
  [[nodiscard]] std::string text(int at) const;
  [[nodiscard]] bool is_null(int at) const {
    return sqlite3_column_type(stmt(), at) == SQLITE_NULL;
  }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  [[nodiscard]] sqlite3_stmt* stmt() const { return stmt_.get(); }
  Status finish();

  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
};

}  // namespace stepscope

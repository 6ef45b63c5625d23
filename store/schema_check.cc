#include "store/schema_check.h"

#include <map>
#include <set>
#include <string>

#include "store/mutex.h"
#include "store/rows.h"

namespace stepscope {
namespace {

// The columns of each table, by its name.
using Shape = std::map<std::string, std::string, std::less<>>;

Status refuse(const Database& database, const std::string& what) {
  return Status::error(ErrorKind::kBadInput,
                       database.path().string() +
                           ": does not have the schema of a Stepscope store (" + what +
                           "); record again");
}

// Call it only for plain tables: for a view SQLite would have to work out the columns, and a
// virtual table would be started.
Result<std::string> columns_of(Database& database, std::string_view table) {
  std::string columns;
  Result<Statement> rows =
      database.prepare("SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?1)");
  if (!rows.ok()) return rows.status();
  rows->bind(1, table);
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return columns;
    for (int i = 0; i < 5; ++i) columns += rows->text(i) + (i < 4 ? " " : ", ");
  }
}

Result<Shape> shape_of(const char* schema_sql) {
  Result<Database> made =
      Database::open("/schema", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "mode=memory");
  if (!made.ok()) return made.status();
  if (Status status = made->exec(schema_sql); !status.ok()) return status;
  Shape shape;
  const Status status = for_each_row(*made, "SELECT name FROM sqlite_schema WHERE type = 'table'",
                                     [&](const Statement& row) {
                                       const std::string table = row.text(0);
                                       Result<std::string> columns = columns_of(*made, table);
                                       if (!columns.ok()) return columns.status();
                                       shape[table] = *std::move(columns);
                                       return Status();
                                     });
  if (!status.ok()) return status;
  return shape;
}

// Cached, because the shape of a schema never changes and computing it takes a millisecond.
Result<Shape> wanted_shape(const char* schema_sql) {
  struct Known {
    Mutex mutex;
    std::map<const char*, Shape> shapes STEPSCOPE_GUARDED_BY(mutex);
  };
  static auto& known = *new Known;  // never destroyed: threads may run at exit
  const MutexLock lock(known.mutex);
  const auto found = known.shapes.find(schema_sql);
  if (found != known.shapes.end()) return found->second;
  Result<Shape> shape = shape_of(schema_sql);
  if (shape.ok()) known.shapes[schema_sql] = *shape;
  return shape;
}

// Whether a schema row's SQL matches its type. SQLite writes the first words of the SQL itself, and
// when it opens a file it runs the SQL, whatever type the row claims.
bool is_as_it_says(const std::string& type, const std::string& sql) {
  if (type == "table") return sql.starts_with("CREATE TABLE ");
  if (type == "view") return sql.starts_with("CREATE VIEW ");
  return type == "index" && (sql.empty() || sql.starts_with("CREATE INDEX ") ||
                             sql.starts_with("CREATE UNIQUE INDEX "));
}

// The names of `wanted` that are plain tables; the first object that must not be there is an error.
Result<std::set<std::string, std::less<>>> plain_tables(Database& database, const Shape& wanted) {
  std::set<std::string, std::less<>> found;
  std::set<std::int64_t> first_pages = {1};  // the schema's own
  const Status status =
      for_each_row(database, "SELECT type, lower(name), sql, rootpage FROM sqlite_schema",
                   [&](const Statement& row) {
                     const std::string type = row.text(0), name = row.text(1);
                     const bool ours = wanted.contains(name);
                     if (ours && type != "table")
                       return refuse(database, name + " is not a table but a " + type);
                     if (!is_as_it_says(type, row.text(2))) {
                       return refuse(database, name + " is not a plain table, view or index");
                     }
                     // Writing one of two tables that share pages would destroy the other.
                     const std::int64_t first_page = row.integer(3);
                     if (first_page != 0 && !first_pages.insert(first_page).second) {
                       return refuse(database, name + " shares its pages with another table");
                     }
                     if (ours) found.insert(name);
                     return Status();
                   });
  if (!status.ok()) return status;
  return found;
}

}  // namespace

Status check_table_kinds(Database& database, const char* schema_sql) {
  const Result<Shape> wanted = wanted_shape(schema_sql);
  if (!wanted.ok()) return wanted.status();
  return plain_tables(database, *wanted).status();
}

Status check_schema(Database& database, const char* schema_sql) {
  const Result<Shape> wanted = wanted_shape(schema_sql);
  if (!wanted.ok()) return wanted.status();
  const auto found = plain_tables(database, *wanted);
  if (!found.ok()) return found.status();
  for (const auto& [table, columns] : *wanted) {
    if (!found->contains(table)) return refuse(database, "it has no table " + table);
    const Result<std::string> there = columns_of(database, table);
    if (!there.ok()) return there.status();
    if (*there != columns) return refuse(database, "the table " + table + " has other columns");
  }
  return {};
}

}  // namespace stepscope

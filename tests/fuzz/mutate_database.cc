#include "tests/fuzz/mutate_database.h"

#include <map>
#include <string>

#include "store/sqlite.h"
#include "tests/fuzz/verbs.h"

namespace stepscope::testing {
namespace {

constexpr int kMaxMutations = 12;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const { return left_ == 0; }
  std::uint64_t take(int count = 1) {
    std::uint64_t value = 0;
    for (; count > 0 && left_ > 0; --count, --left_) value = value << 8 | *data_++;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct Table {
  std::string name;
  std::vector<std::string> columns;
};

// The same for all inputs, so that a number means the same table.
std::vector<Table> tables_of(Database& database) {
  std::vector<Table> tables;
  auto rows = database.prepare(
      "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
      " WHERE t.type = 'table' ORDER BY t.name, c.cid");
  require(rows.ok(), "the base is a database");
  while (*rows->next()) {
    if (tables.empty() || tables.back().name != rows->text(0))
      tables.push_back({rows->text(0), {}});
    tables.back().columns.push_back(rows->text(1));
  }
  return tables;
}

std::string value_of(Bytes& bytes) {
  static constexpr const char* kValues[] = {"0",
                                            "1",
                                            "2",
                                            "3",
                                            "-1",
                                            "NULL",
                                            "'text'",
                                            "x'ff00'",
                                            "1.5",
                                            "9e999",
                                            "4000000000",
                                            "2147483647",
                                            "-2147483648",
                                            "4294967295",
                                            "9223372036854775807",
                                            "-9223372036854775808",
                                            "1152921504606846976",
                                            "31622400000000000",
                                            "-31622400000000000",
                                            "1000000",
                                            "printf('%.*c', 2000, 'n')",
                                            "''",
                                            "'\xff\xfe'",
                                            "'lengths 1 2 3'",
                                            "'ProfilerStep#7'"};
  constexpr std::size_t kCount = std::size(kValues);
  const std::uint64_t choice = bytes.take();
  if (choice < kCount) return kValues[choice];
  if (choice < 128) return std::to_string(bytes.take(2));
  if (choice < 192) return std::to_string(static_cast<std::int64_t>(bytes.take(8)));
  return std::to_string(std::int64_t{1} << (choice % 62));
}

std::string rows_of(Bytes& bytes) {
  const std::uint64_t choice = bytes.take();
  if (choice < 64) return "";
  if (choice < 192) return " WHERE rowid = " + std::to_string(choice - 63);
  return " WHERE rowid % " + std::to_string(choice - 190) + " = 1";
}

std::string mutation(Bytes& bytes, const std::vector<Table>& tables) {
  const std::uint64_t kind = bytes.take() % 16;
  const Table& table = tables[bytes.take() % tables.size()];
  const std::string& column = table.columns[bytes.take() % table.columns.size()];
  const std::string name = '"' + table.name + '"', in = '"' + column + '"';
  switch (kind) {
    case 0:
      return "DELETE FROM " + name + rows_of(bytes);
    case 1: {
      std::string rest;
      for (const std::string& c : table.columns) {
        if (c != "id") rest += (rest.empty() ? "\"" : ", \"") + c + '"';
      }
      return "INSERT INTO " + name + " (" + rest + ") SELECT " + rest + " FROM " + name +
             rows_of(bytes) + " LIMIT 64";
    }
    case 2:
      return "UPDATE " + name + " SET " + in + " = " + in + " + " + value_of(bytes) +
             rows_of(bytes);
    case 3:
      return "UPDATE " + name + " SET " + in + " = -" + in + rows_of(bytes);
    case 4:
      return "DROP TABLE " + name;
    case 5:
      return "ALTER TABLE " + name + " RENAME COLUMN " + in + " TO other";
    case 6:
      return "DROP TABLE " + name + "; CREATE VIEW " + name +
             " AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM "
             "n";
    case 7:
      return "PRAGMA user_version = " + std::to_string(bytes.take() % 6);
    case 8:
      return "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER',"
             " 'TEXT') WHERE name = '" +
             table.name + "'; PRAGMA writable_schema = RESET";
    case 9:
      return "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = " +
             std::to_string(bytes.take() % 64) + " WHERE name = '" + table.name + "'";
    default:
      return "UPDATE OR IGNORE " + name + " SET " + in + " = " + value_of(bytes) + rows_of(bytes);
  }
}

void mutate_by_sql(Bytes bytes, const std::filesystem::path& path) {
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  require(database.ok(), "the base can be opened");
  static std::map<std::string, std::vector<Table>> known;  // by path: each target has one base
  std::vector<Table>& tables = known[path.string()];
  if (tables.empty()) tables = tables_of(*database);
  static_cast<void>(database->exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF"));
  for (int i = 0; i < kMaxMutations && !bytes.empty(); ++i) {
    static_cast<void>(database->exec(mutation(bytes, tables).c_str()));
  }
}

}  // namespace

void write_mutated(const std::vector<std::uint8_t>& base, const std::uint8_t* data,
                   std::size_t size, const std::filesystem::path& path) {
  Bytes bytes(data, size);
  if (bytes.take() % 2 == 0) {
    write_bytes(path, base.data(), base.size());
    mutate_by_sql(bytes, path);
    return;
  }
  std::vector<std::uint8_t> file = base;
  while (!bytes.empty()) {
    const std::uint64_t at = bytes.take(3);
    const auto value = static_cast<std::uint8_t>(bytes.take());
    if (at == 0xFFFFFF) {
      file.resize(file.size() * value / 256);
    } else if (!file.empty()) {
      file[at % file.size()] = value;
    }
  }
  write_bytes(path, file.data(), file.size());
}

}  // namespace stepscope::testing

// The mechanism, with versions made up here; and each real migration: a store of an earlier version
// (tests/store/data/schema_v*.sql) becomes what a new one is.
#include "store/migration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/source_folder.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/store/whole_file.h"

namespace stepscope {
namespace {

using testing::read_file;
using testing::TempDir;

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = Database::open(dir_ / "old.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    ASSERT_OK(database.status());
    database_ = *std::move(database);
    ASSERT_OK(
        database_.exec("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);"
                       "INSERT INTO meta VALUES ('schema_version', '5');"
                       "CREATE TABLE t(a); INSERT INTO t VALUES (7);"
                       "PRAGMA user_version = 5;"));
  }

  std::string versions() {
    return *database_.query_text("PRAGMA user_version") + " " +
           *database_.query_text("SELECT value FROM meta WHERE key = 'schema_version'");
  }

  TempDir dir_;
  Database database_;
};

const std::vector<Migration> kSteps = {{5, "ALTER TABLE t RENAME COLUMN a TO b"},
                                       {6, "ALTER TABLE t ADD COLUMN c; UPDATE t SET c = b + 1"}};

TEST_F(MigrationTest, RunsEachStepFromTheStoresVersionOn) {
  ASSERT_OK(migrate(database_, 5, 7, kSteps));
  EXPECT_EQ(*database_.query_int("SELECT b * 10 + c FROM t"), 78);
  EXPECT_EQ(versions(), "7 7");
}

TEST_F(MigrationTest, BeginsInTheMiddleAndStopsAtTheTarget) {
  ASSERT_OK(migrate(database_, 5, 6, kSteps));
  EXPECT_EQ(versions(), "6 6");
  ASSERT_OK(migrate(database_, 6, 7, kSteps));
  EXPECT_EQ(*database_.query_int("SELECT c FROM t"), 8);
}

TEST_F(MigrationTest, ThereIsNothingToDoForTheSameVersion) {
  ASSERT_OK(migrate(database_, 5, 5, {}));
  EXPECT_EQ(versions(), "5 5");
}

TEST_F(MigrationTest, AFailingStepLeavesTheStoreAsItWas) {
  std::vector<Migration> steps = kSteps;
  steps[1].sql = "ALTER TABLE no_such_table ADD COLUMN c";
  expect_error(migrate(database_, 5, 7, steps), ErrorKind::kBadInput, dir_ / "old.db",
               {"damaged (its tables are not those of schema version 6: no such table", "record"});
  EXPECT_EQ(*database_.query_int("SELECT a FROM t"), 7);
  EXPECT_EQ(versions(), "5 5");
}

TEST_F(MigrationTest, AMissingStepIsSaid) {
  expect_error(migrate(database_, 4, 7, kSteps), ErrorKind::kBadInput, dir_ / "old.db",
               {"version 4", "too old"});
  EXPECT_EQ(versions(), "5 5");
}

// What a change of the schema must not forget.
TEST_F(MigrationTest, TheKnownStepsLeadFromTheFirstVersionToThisOne) {
  int version = 1;
  for (const Migration& step : known_migrations()) EXPECT_EQ(step.from, version++);
  EXPECT_EQ(version, kSchemaVersion);
}

// A store as an earlier Stepscope left it: its schema, and a row in each table that has since
// grown.
void make_old_store(const std::filesystem::path& path, int version) {
  const std::string number = std::to_string(version);
  const std::string schema =
      read_file(testing::source_folder() / ("tests/store/data/schema_v" + number + ".sql"));
  ASSERT_FALSE(schema.empty());
  auto database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_OK(database.status());
  const std::string rest =
      "INSERT INTO meta VALUES ('schema_version', '" + number +
      "'), ('state', 'complete');"
      "INSERT INTO string VALUES (1, 'aten::add');"
      "INSERT INTO process(id, pid, name, command) VALUES (1, 77, 'train', './train');"
      "INSERT INTO thread VALUES (1, 1, 77, 1, 'train');"
      "INSERT INTO op VALUES (1, 1, 10, 20, NULL, 0, 0, 0, NULL, NULL, 1);"
      "PRAGMA application_id = " +
      std::to_string(kApplicationId) + "; PRAGMA user_version = " + number;
  ASSERT_OK(database->exec((schema + rest).c_str()));
}

std::string rows_of(Database& database, const char* sql) {
  std::string text;
  auto rows = database.prepare(sql);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  while (rows.ok() && *rows->next()) text += rows->text(0) + "\n";
  return text;
}

// All that can be said of a schema. The text of a table would differ by where ALTER TABLE put a
// column's comma, so tables are compared column by column; views and indexes as text.
std::string describe(Database& database) {
  return rows_of(database,
                 "SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c.'notnull' || ' ' ||"
                 " coalesce(c.dflt_value, '-') || ' ' || c.pk || ' ' || t.strict || t.wr || ' #' ||"
                 " c.cid || ' ' || coalesce((SELECT f.'table' FROM"
                 " pragma_foreign_key_list(t.name) AS f WHERE f.'from' = c.name), '')"
                 " FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c"
                 " WHERE t.type = 'table' AND t.schema = 'main' ORDER BY t.name, c.cid") +
         rows_of(database,
                 "SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema"
                 " WHERE type <> 'table' ORDER BY name") +
         rows_of(database, "SELECT id || ' ' || name FROM phase_kind ORDER BY id") +
         rows_of(database, "SELECT id || ' ' || name FROM op_scope ORDER BY id");
}

class EarlierVersion : public ::testing::TestWithParam<int> {};

TEST_P(EarlierVersion, BecomesWhatANewStoreIs) {
  const TempDir dir;
  make_old_store(dir / "old.db", GetParam());
  testing::make_store(dir / "new.db", {});
  ASSERT_OK(TraceWriter::open(dir / "old.db").status());
  auto old = Database::open(dir / "old.db", SQLITE_OPEN_READONLY);
  auto fresh = Database::open(dir / "new.db", SQLITE_OPEN_READONLY);
  ASSERT_OK(old.status());
  ASSERT_OK(fresh.status());
  EXPECT_EQ(describe(*old), describe(*fresh));
  EXPECT_EQ(*old->query_int("PRAGMA user_version"), kSchemaVersion);
}

TEST_P(EarlierVersion, IsReadWithWhatWasInItAndTakesWhatIsNew) {
  const TempDir dir;
  make_old_store(dir / "old.db", GetParam());
  const auto reader = testing::open_store(dir / "old.db");
  ASSERT_EQ(reader->processes().size(), 1u);
  EXPECT_EQ(reader->processes()[0].command, "./train");
  EXPECT_EQ(reader->processes()[0].parent_pid, 0);
  EXPECT_EQ(reader->processes()[0].rank, -1);
  EXPECT_EQ(*reader->op_count(), 1);
  EXPECT_TRUE(reader->process_ends()->empty());
  auto writer = TraceWriter::open(dir / "old.db");
  ASSERT_OK(writer.status());
  ASSERT_OK((*writer)->add(ProcessEnd{ProcessId{1}, EndKind::kExit, 3, session_time(9), 0, false}));
  ASSERT_OK((*writer)->finish());
  EXPECT_EQ(reader->process_ends()->at(0).code, 3);
}

INSTANTIATE_TEST_SUITE_P(All, EarlierVersion, ::testing::Range(1, kSchemaVersion));

}  // namespace
}  // namespace stepscope

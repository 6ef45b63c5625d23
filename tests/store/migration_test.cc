// The mechanism, with versions made up here: version 1 is the first real one.
#include "store/migration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/schema.h"
#include "store/sqlite.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

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
  EXPECT_FALSE(migrate(database_, 5, 7, steps).ok());
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

}  // namespace
}  // namespace stepscope

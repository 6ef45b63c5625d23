#include "store/string_table.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

class Strings : public ::testing::Test {
 protected:
  void SetUp() override {
    sqlite3* made = nullptr;
    ASSERT_EQ(sqlite3_open((dir_ / "strings.db").c_str(), &made), SQLITE_OK);
    const char* const sql =
        "CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT";
    ASSERT_EQ(sqlite3_exec(made, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(made);
    auto database = Database::open(dir_ / "strings.db", SQLITE_OPEN_READWRITE);
    ASSERT_OK(database.status());
    database_ = *std::move(database);
  }

  const testing::TempDir dir_;
  Database database_;
};

TEST_F(Strings, BeyondTheLimitNewOnesShareAnId) {
  constexpr int kRoomFor = 10;
  StringTable table(kRoomFor * (StringTable::kBytesBeside + 6));
  ASSERT_OK(table.load(database_));
  Status status;
  StringId last{};
  for (int i = 0; i < 1000; ++i) last = table.intern("iter " + std::to_string(i % 500), status);
  ASSERT_OK(status);
  EXPECT_EQ(table.intern("iter 0", status), StringId{1}) << "what was there stays itself";
  EXPECT_EQ(last, table.find(StringTable::kFurther));
  EXPECT_EQ(table.intern("iter 499", status), last);
  const auto stored = database_.query_int("SELECT count(*) FROM string");
  ASSERT_OK(stored.status());
  EXPECT_EQ(*stored, kRoomFor + 1);
  EXPECT_EQ(table.take_merged(), 2 * (500 - kRoomFor) + 1);
  EXPECT_EQ(table.take_merged(), 0);
}

TEST_F(Strings, WhatIsThereAlreadyCounts) {
  {
    StringTable first;
    ASSERT_OK(first.load(database_));
    Status status;
    for (int i = 0; i < 20; ++i) first.intern("name " + std::to_string(i), status);
    ASSERT_OK(status);
  }
  StringTable again(StringTable::kBytesBeside);
  ASSERT_OK(again.load(database_));
  Status status;
  EXPECT_EQ(again.intern("name 3", status), StringId{4});
  EXPECT_EQ(again.intern("another", status), StringId{21});
  EXPECT_EQ(again.find(StringTable::kFurther), StringId{21});
  EXPECT_EQ(again.take_merged(), 1);
}

}  // namespace
}  // namespace stepscope

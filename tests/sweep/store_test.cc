// The store of a sweep: what goes in comes out, and what it is not is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "store/read_sweep.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store_path.h"
#include "store/sweep_store.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/source_folder.h"
#include "tests/store/assert_ok.h"
#include "tests/sweep/sweeps.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SweepStore : public ::testing::Test {
 protected:
  SweepStore()
      : path_(fs::path(::testing::TempDir()) /
              (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
               ".db")) {
    remove_all();
  }
  ~SweepStore() override { remove_all(); }

  // Two settings of one run each; the second failed.
  void make() {
    auto writer = SweepWriter::create(path_, plan_.plan);
    ASSERT_OK(writer.status());
    SweepRun run = testing::good_run(0, 1, 1e6, 3);
    run.error_tail = "last \xff words";
    run.samples_per_step = 8;
    run.peak_address_bytes = 7;
    run.loop_pressure_ns = 2.5;
    run.trains = 0;
    ASSERT_OK((*writer)->add_run(run));
    ASSERT_OK((*writer)->add_run(
        testing::failed_run(1, SweepOutcome::kTimedOut, "took longer than 1 s")));
  }
  std::int64_t query(const char* sql) {
    auto database = Database::open(path_, SQLITE_OPEN_READONLY);
    EXPECT_TRUE(database.ok());
    const auto value = database->query_int(sql);
    EXPECT_TRUE(value.ok()) << value.status().message();
    return value.ok() ? *value : -1;
  }

  fs::path path_;
  SweepData plan_ =
      testing::grid_of({testing::numbers("batch", {8, 16}), testing::words("kind", {"x"})},
                       {{"old", "./a {batch} {kind}"}});

 private:
  void remove_all() {
    for (const char* suffix : {"", ".old", "-journal"}) fs::remove(path_.string() + suffix);
  }
};

TEST_F(SweepStore, WhatGoesInComesOut) {
  make();
  const auto data = read_sweep(path_);
  ASSERT_OK(data.status());
  ASSERT_EQ(data->plan.cells.size(), 2U);
  EXPECT_EQ(data->plan.variants[0].command, "./a {batch} {kind}");
  EXPECT_EQ(data->plan.cells[1].values, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(data->plan.parameters[0].values[1].number, 16.0);
  EXPECT_EQ(data->plan.parameters[1].values[0].number, std::nullopt);
  EXPECT_EQ(data->plan.meta_text("rounds"), "3");
  ASSERT_EQ(data->runs.size(), 2U);
  const SweepRun& run = data->runs[0];
  ASSERT_EQ(run.steps.size(), 3U);
  EXPECT_FALSE(run.steps[0].steady);
  EXPECT_EQ(run.steps[1].dur_ns, testing::good_run(0, 1, 1e6, 3).steps[1].dur_ns);
  EXPECT_EQ(run.steps[1].input_ns, run.steps[1].dur_ns / 4);
  EXPECT_EQ(run.error_tail, "last \xef\xbf\xbd words") << "bytes that are no text are replaced";
  EXPECT_EQ(run.samples_per_step, 8.0);
  EXPECT_EQ(run.peak_address_bytes, 7);
  EXPECT_EQ(run.loop_pressure_ns, 2.5);
  EXPECT_EQ(run.trains, 0);
  EXPECT_EQ(data->runs[1].trains, std::nullopt);
  EXPECT_EQ(run.signal, std::nullopt);
  EXPECT_EQ(data->runs[1].outcome, SweepOutcome::kTimedOut);
  EXPECT_EQ(data->runs[1].cause, "took longer than 1 s");
}

TEST_F(SweepStore, ANumberThatIsNoneIsDamage) {
  for (const char* damage :
       {"UPDATE meta SET value = 'many' WHERE key = 'rounds'",
        "UPDATE meta SET value = '9e9' WHERE key = 'memory_bytes'",
        "UPDATE meta SET value = '-2' WHERE key = 'cpu_count'",
        "UPDATE run SET samples_per_step = 9e999", "UPDATE run SET samples_per_step = 0"}) {
    make();
    auto database = Database::open(path_, SQLITE_OPEN_READWRITE);
    ASSERT_OK(database.status());
    ASSERT_OK(database->exec(damage));
    const auto data = read_sweep(path_);
    ASSERT_FALSE(data.ok()) << damage;
    EXPECT_THAT(data.status().message(), ::testing::HasSubstr("damaged")) << damage;
  }
}

TEST_F(SweepStore, ItsViewsLeaveOutWhatIsNotAvailable) {
  make();
  EXPECT_EQ(query("SELECT count(*) FROM cell_stats"), 1);
  EXPECT_EQ(query("SELECT steps FROM cell_stats"), 2) << "warm-up is no part of it";
  EXPECT_EQ(query("SELECT count(*) FROM cell_outcome WHERE outcome = 'timed-out'"), 1);
  EXPECT_EQ(query("SELECT count(*) FROM setting WHERE setting LIKE '%batch=16%'"), 1);
}

TEST_F(SweepStore, FailedRunsCanBeForgotten) {
  make();
  auto writer = SweepWriter::open(path_);
  ASSERT_OK(writer.status());
  EXPECT_EQ(*(*writer)->forget_failed_runs(), 1);
  EXPECT_EQ(read_sweep(path_)->runs.size(), 1U);
}

TEST_F(SweepStore, TwoMayNotGoOnWithItAtOnce) {
  make();
  auto first = SweepWriter::open(path_);
  ASSERT_OK(first.status());
  expect_error(SweepWriter::open(path_).status(), ErrorKind::kBusy, path_);
  EXPECT_OK(read_sweep(path_).status());
}

TEST_F(SweepStore, AnEarlierSweepIsKept) {
  make();
  ASSERT_OK(SweepWriter::create(path_, plan_.plan).status());
  EXPECT_EQ(read_sweep(path_)->runs.size(), 0U);
  EXPECT_EQ(read_sweep(path_.string() + ".old")->runs.size(), 2U);
}

TEST_F(SweepStore, ARecordingIsNone) {
  ASSERT_OK((*TraceWriter::create(path_))->finish());
  EXPECT_FALSE(is_sweep(path_));
  expect_error(read_sweep(path_).status(), ErrorKind::kBadInput, path_,
               {"a recording, not a sweep"});
  expect_error(SweepWriter::create(path_, plan_.plan).status(), ErrorKind::kBadInput, path_,
               {"a recording, not a sweep"});
  EXPECT_OK(TraceReader::open(path_).status());  // and it is left alone
}

TEST_F(SweepStore, ItIsNoRecording) {
  make();
  EXPECT_TRUE(is_sweep(path_));
  expect_error(TraceReader::open(path_).status(), ErrorKind::kBadInput, path_,
               {"a sweep, not a recording"});
  expect_error(TraceWriter::create(path_).status(), ErrorKind::kBadInput, path_, {"a sweep"});
  EXPECT_EQ(read_sweep(path_)->runs.size(), 2U) << "and it is left alone";
}

TEST_F(SweepStore, AnOlderOneIsBroughtUpToDate) {
  make();
  {
    auto database = Database::open(path_, SQLITE_OPEN_READWRITE);
    ASSERT_OK(database.status());
    // SQLite looks for the comma before the column, also in the comment of the one before it.
    ASSERT_OK(database->exec("ALTER TABLE run DROP COLUMN trains; PRAGMA user_version = 1"));
  }
  const auto old = read_sweep(path_);
  ASSERT_OK(old.status());
  EXPECT_EQ(old->runs.at(0).steps.size(), 3U);
  EXPECT_EQ(old->runs.at(0).trains, std::nullopt);
  EXPECT_EQ(query("PRAGMA user_version"), kSweepSchemaVersion);
  auto writer = SweepWriter::open(path_);
  ASSERT_OK(writer.status());
  SweepRun run = testing::good_run(0, 2, 1e6, 3);
  run.trains = 1;
  ASSERT_OK((*writer)->add_run(run));
  const auto now = read_sweep(path_);
  ASSERT_OK(now.status());
  EXPECT_EQ(now->runs.at(2).trains, 1);
}

TEST_F(SweepStore, ANewerSchemaIsRefused) {
  make();
  {
    auto database = Database::open(path_, SQLITE_OPEN_READWRITE);
    ASSERT_OK(database->exec("PRAGMA user_version = 99"));
  }
  expect_error(read_sweep(path_).status(), ErrorKind::kBadInput, path_,
               {"version 99", "update Stepscope"});
}

TEST_F(SweepStore, DamageIsToldNotRead) {
  make();
  {
    auto database = Database::open(path_, SQLITE_OPEN_READWRITE);
    ASSERT_OK(
        database->exec("PRAGMA foreign_keys = OFF; DELETE FROM parameter_value WHERE id = 2"));
  }
  expect_error(read_sweep(path_).status(), ErrorKind::kBadInput, path_, {"damaged"});
}

// A sweep can come from anywhere, as a recording can.
TEST_F(SweepStore, WhatNoSweepHoldsIsRefusedAndLeftAsItWas) {
  const std::pair<const char*, const char*> kCases[] = {
      {"UPDATE run SET cell_id = -9223372036854775808", "cell_id"},
      {"UPDATE run SET outcome = 'vanished'", "ended in an unknown way"},
      {"UPDATE run SET wall_ns = -1", "-1 as its wall_ns"},
      {"UPDATE run SET peak_rss_bytes = -9223372036854775808", "peak_rss_bytes"},
      {"UPDATE step SET dur_ns = 9223372036854775807", "dur_ns"},
      {"UPDATE cell SET variant_id = 4000000000", "a variant is missing"},
      {"WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 100)"
       " INSERT INTO parameter SELECT i, 'p' || i FROM n",
       "more than 64 parameters"},
      {"DROP TABLE step; CREATE VIEW step AS WITH RECURSIVE n(run_id) AS (SELECT 1 UNION ALL SELECT"
       " run_id FROM n) SELECT run_id, 1 AS number, 1 AS dur_ns, 1 AS input_ns, 1 AS steady FROM n",
       "step is not a table but a view"},
      {"CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM step; END",
       "t is not a plain table"}};
  for (const auto& [sql, says] : kCases) {
    fs::remove(path_);
    make();
    {
      auto database = Database::open(path_, SQLITE_OPEN_READWRITE);
      ASSERT_OK(database.status());
      ASSERT_OK(database->exec(sql));
    }
    expect_error(read_sweep(path_).status(), ErrorKind::kBadInput, path_, {says});
  }
}

// The contents of the first ```sql block of a page after `heading`.
std::string sql_after(const std::string& page, const std::string& heading) {
  std::ifstream file(testing::source_folder() / page);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string open = "```sql\n";
  const std::size_t at = text.find(open, text.find(heading)) + open.size();
  return text.substr(at, text.find("```", at) - at);
}

TEST(SweepDoc, HoldsTheSchema) {
  EXPECT_EQ(sql_after("docs/sweep.md", "The schema in full"), kSweepSchemaSql)
      << "copy store/sweep_schema.sql into the last block of docs/sweep.md";
}

TEST_F(SweepStore, EachQueryOfItsPageHasAnAnswer) {
  make();
  std::ifstream file(testing::source_folder() / "docs/sweep.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string open = "```sql\n";
  int queries = 0;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const std::string sql = text.substr(at, text.find("```", at) - at);
    if (sql == kSweepSchemaSql) continue;
    ++queries;
    auto database = Database::open(path_, SQLITE_OPEN_READONLY);
    auto rows = database->prepare(sql);
    ASSERT_TRUE(rows.ok()) << sql << rows.status().message();
    const auto row = rows->next();
    EXPECT_TRUE(row.ok() && *row) << sql;
  }
  EXPECT_GE(queries, 3);
}

}  // namespace
}  // namespace stepscope

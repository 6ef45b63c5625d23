// A store from elsewhere: what is in it is refused, or can be reckoned with.
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "store/limits.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_tail.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/hostile_stores.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::HostileStore;
using testing::TempDir;

// All that was recorded, each table once.
Status read_recorded(const TraceReader& reader) {
  const auto visit = [](const auto&) {};
  const auto go_on = [](const auto&) { return true; };
  Status status = reader.op_count().status();
  if (status.ok()) status = reader.phases().status();
  if (status.ok()) status = reader.losses().status();
  if (status.ok()) status = reader.process_ends().status();
  if (status.ok()) status = reader.unfinished_ops().status();
  if (status.ok()) status = reader.for_each_sample(go_on);
  if (status.ok()) status = reader.watched_threads().status();
  if (status.ok()) status = reader.for_each_stretch(visit);
  if (status.ok()) status = reader.for_each_thread_reading(visit);
  if (status.ok()) status = reader.frames().status();
  if (status.ok()) status = reader.for_each_stack_sample(visit);
  if (status.ok()) status = reader.for_each_native_sample(visit);
  if (status.ok()) status = reader.for_each_op(go_on);
  if (status.ok()) status = reader.for_each_api_call(visit);
  if (status.ok()) status = reader.for_each_kernel(visit);
  if (status.ok()) status = reader.for_each_copy(visit);
  if (status.ok()) status = reader.for_each_memset(visit);
  if (status.ok()) status = reader.for_each_sync(visit);
  return status;
}

Status read_store(const std::filesystem::path& path) {
  const auto reader = TraceReader::open(path);
  return reader.ok() ? read_recorded(**reader) : reader.status();
}

Status follow_store(const std::filesystem::path& path) {
  const auto tail = TraceTail::open(path);
  if (!tail.ok()) return tail.status();
  while (true) {
    const auto news = (*tail)->read({.phases = 1'000, .events = 1'000'000});
    if (!news.ok() || !news->more_phases) return news.status();
  }
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream bytes;  // not by iterators: without optimisation they take 100 ms a megabyte
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

class Hostile : public ::testing::TestWithParam<HostileStore> {
 protected:
  void SetUp() override { testing::make_hostile_store(path_, GetParam().sql); }

  TempDir dir_;
  const std::filesystem::path path_ = dir_ / "run.db";
};

TEST_P(Hostile, IsRefusedWithALineAndLeftAsItWas) {
  const std::string before = bytes_of(path_);
  expect_error(read_store(path_), ErrorKind::kBadInput, path_, {GetParam().says});
  EXPECT_EQ(bytes_of(path_), before);
}

TEST_P(Hostile, IsRefusedByWhoFollowsIt) {
  expect_error(follow_store(path_), ErrorKind::kBadInput, path_, {GetParam().says});
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, ::testing::ValuesIn(testing::hostile_stores()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(UntrustedStore, AGoodOneIsRead) {
  const TempDir dir;
  testing::make_hostile_store(dir / "run.db", "");
  EXPECT_OK(read_store(dir / "run.db"));
  EXPECT_OK(follow_store(dir / "run.db"));
}

TEST(UntrustedStore, TablesViewsAndIndexesOfAUsersOwnAreNobodysBusiness) {
  const TempDir dir;
  testing::make_hostile_store(
      dir / "run.db",
      "CREATE TABLE mine (a); CREATE VIEW my_view AS SELECT * FROM op_stats, mine;"
      "CREATE INDEX by_name ON op(name_id); CREATE UNIQUE INDEX u ON mine(a)");
  EXPECT_OK(read_store(dir / "run.db"));
  EXPECT_OK(TraceWriter::open(dir / "run.db").status());
}

TEST(UntrustedStore, AnAnalysisIsCheckedWhenItIsRead) {
  const struct {
    const char* sql;
    const char* says;
  } kCases[] = {
      {"UPDATE step SET thread_id = 4000000000", "4000000000 as its thread_id"},
      {"UPDATE step SET marker = 'omen'", "marker"},
      {"UPDATE step SET dur_ns = -1", "-1 as its dur_ns"},
      {"UPDATE step SET paused_ns = -3", "-3 as its paused_ns"},
      {"INSERT INTO segment VALUES (NULL, 1, 'nap', 0, 5, NULL, 0, 0)", "kind"},
      {"INSERT INTO segment VALUES (NULL, 99, 'evaluation', 0, 5, NULL, 0, 0)",
       "99 as its thread_id"},
      {"INSERT INTO segment VALUES (NULL, 1, 'evaluation', 0, -5, NULL, 0, 0)", "-5 as its dur_ns"},
      {"INSERT INTO segment VALUES (NULL, 1, 'evaluation', 0, 5, NULL, 0, -7)",
       "-7 as its input_ns"},
      {"INSERT INTO line_share VALUES (NULL, 1, 'elsewhere', 'input', '', 1, '', '', '', 1, 1, 1, "
       "1,"
       " 1)",
       "'elsewhere' as its place"},
      {"INSERT INTO line_share VALUES (NULL, 1, 'loop', 'input', '', -1, '', '', '', 1, 1, 1, 1, "
       "1)",
       "-1 as its line"},
      {"UPDATE step_time SET category = 'sleep'", "category"},
      {"UPDATE step_time SET phase = 99", "99 as its phase"},
      {"UPDATE step_time SET device_id = 50", "50 as its device_id"},
      {"UPDATE verdict SET thread_id = -2", "-2 as its thread_id"},
  };
  for (const auto& [sql, says] : kCases) {
    const TempDir dir;
    testing::make_hostile_store(dir / "run.db", sql);
    const auto reader = testing::open_store(dir / "run.db");
    expect_error(reader->analysis().status(), ErrorKind::kBadInput, dir / "run.db", {says});
  }
}

// Only an analysis reads it.
TEST(UntrustedStore, HowThreadsWereScheduledIsCheckedWhenItIsRead) {
  const struct {
    const char* sql;
    const char* says;
  } kCases[] = {
      {"UPDATE thread_stretch SET thread_id = 9", "9 as its thread_id"},
      {"UPDATE thread_stretch SET starved_ns = -1", "-1 as its starved_ns"},
      {"UPDATE thread_reading SET watched_thread_id = 9", "9 as its watched_thread_id"},
      {"UPDATE thread_reading SET run_ns = 9223372036854775807", "as its run_ns"},
      {"UPDATE watched_thread SET process_id = 7", "7 as its process_id"},
      {"UPDATE frame SET caller_id = 2 WHERE id = 2", "2 as its caller_id"},
      {"UPDATE frame SET file_id = 4000000000", "4000000000 as its name_id"},
      {"UPDATE frame SET line = -5", "-5 as its line"},
      {"UPDATE stack_sample SET frame_id = 9", "9 as its frame_id"},
      {"UPDATE stack_sample SET watched_thread_id = 0", "0 as its watched_thread_id"},
      {"UPDATE stack_sample SET awaited = 2", "2 as its awaited"},
      {"UPDATE stack_sample SET blocked_id = 4000000000", "4000000000 as its name_id"},
      {"UPDATE native_sample SET watched_thread_id = 9", "9 as its watched_thread_id"},
      {"UPDATE native_sample SET library_id = 4000000000", "4000000000 as its library_id"},
      {"UPDATE native_sample SET at_ns = -9223372036854775807", "as its at_ns"},
  };
  for (const auto& [sql, says] : kCases) {
    const TempDir dir;
    testing::make_hostile_store(dir / "run.db", sql);
    expect_error(read_store(dir / "run.db"), ErrorKind::kBadInput, dir / "run.db", {says});
  }
}

TEST(UntrustedStore, NoAnalysisIsWrittenWhereATriggerWouldRun) {
  const TempDir dir;
  testing::make_hostile_store(dir / "run.db",
                              "CREATE TRIGGER t AFTER DELETE ON step BEGIN DELETE FROM op; END");
  expect_error(TraceWriter::open(dir / "run.db").status(), ErrorKind::kBadInput, dir / "run.db",
               {"t is not a plain table"});
}

// What would be migrated is looked at before and after, in the transaction that migrates it.
TEST(UntrustedStore, AnOldOneIsNotMigratedToWhatIsRefused) {
  const TempDir dir;
  for (const char* sql : {"DROP VIEW timeline; DROP TABLE phase; CREATE VIEW phase AS SELECT 1;"
                          "PRAGMA user_version = 3",
                          "DROP TABLE memset; CREATE TABLE memset (a); PRAGMA user_version = 3",
                          "PRAGMA user_version = 3"}) {
    testing::make_hostile_store(dir / "run.db", sql);
    const std::string before = bytes_of(dir / "run.db");
    const Status status = read_store(dir / "run.db");
    EXPECT_FALSE(status.ok()) << sql;
    EXPECT_NE(status.message().find((dir / "run.db").string()), std::string::npos);
    EXPECT_EQ(bytes_of(dir / "run.db"), before) << sql;
  }
}

TEST(UntrustedStore, NamesAreValidTextWhateverTheFileHolds) {
  const TempDir dir;
  testing::make_hostile_store(dir / "run.db",
                              "UPDATE string SET text = CAST(x'61ff62' AS TEXT) WHERE id = 1;"
                              "UPDATE thread SET name = CAST(x'780079' AS TEXT) WHERE id = 1");
  const auto reader = testing::open_store(dir / "run.db");
  EXPECT_EQ(reader->text(StringId{1}),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(reader->threads()[0].name, "x\xEF\xBF\xBDy");
}

TEST(UntrustedStore, ALongTextIsRefusedBeforeMemoryIsTakenForIt) {
  const TempDir dir;
  testing::make_hostile_store(
      dir / "run.db", "UPDATE string SET text = printf('%.*c', 17000000, 'x') WHERE id = 1");
  expect_error(read_store(dir / "run.db"), ErrorKind::kBadInput, dir / "run.db",
               {"longer than 16 MiB"});
}

// The times that a recorder may leave, to the last.
TEST(UntrustedStore, TheFarthestTimesAreRead) {
  const TempDir dir;
  const std::string sql =
      "UPDATE op SET start_ns = " + std::to_string(-kFarthestNs) + " WHERE id = 1;" +
      "UPDATE op SET start_ns = " + std::to_string(kFarthestNs) + " WHERE id = 2";
  testing::make_hostile_store(dir / "run.db", sql.c_str());
  EXPECT_OK(read_store(dir / "run.db"));
}

// A tree whose inner pages name the same page many times, three deep: a thousand million rows in a
// file of ten pages. SQLite reads them all.
TEST(UntrustedStore, AMazeOfPagesHasAnEnd) {
  const TempDir dir;
  const std::filesystem::path path = dir / "maze.db";
  {
    auto made = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    ASSERT_OK(made.status());
    ASSERT_OK(
        made->exec("PRAGMA page_size = 4096; CREATE TABLE t (id INTEGER PRIMARY KEY, a);"
                   "INSERT INTO t VALUES (1, 1), (2, 2)"));
  }
  std::string bytes = bytes_of(path);
  ASSERT_EQ(bytes.size(), 2u * 4096);
  const auto put = [&bytes](std::size_t at, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * (size - 1 - i)));
  };
  // https://www.sqlite.org/fileformat2.html: page 2, the root, becomes an inner page, and so do 3
  // to 6; each of their 500 cells and their last child lead to the next; page 7 is the leaf that
  // was the root.
  const std::string leaf = bytes.substr(4096);
  bytes.resize(7 * 4096);
  for (std::size_t page = 2; page <= 6; ++page) {
    const std::size_t at = (page - 1) * 4096;
    constexpr std::size_t kCells = 500, kCellBytes = 5;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 4096, '\0');
    put(at, 5, 1);
    put(at + 3, kCells, 2);
    put(at + 5, 4096 - kCells * kCellBytes, 2);
    put(at + 8, page + 1, 4);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const std::size_t content = 4096 - (cell + 1) * kCellBytes;
      put(at + 12 + 2 * cell, content, 2);
      put(at + content, page + 1, 4);
      put(at + content + 4, 1, 1);
    }
  }
  bytes.replace(6 * 4096, 4096, leaf);
  put(28, 7, 4);  // pages in the file
  std::ofstream(path, std::ios::binary) << bytes;
  auto database = Database::open_untrusted(path, SQLITE_OPEN_READONLY);
  ASSERT_OK(database.status());
  expect_error(database->query_int("SELECT sum(a) FROM t").status(), ErrorKind::kBadInput, path,
               {"more steps than a file of its size can need"});
}

TEST(UntrustedStore, WhatAVisitorThrowsComesOutPastSqlite) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto reader = testing::open_store(dir / "run.db");
  const auto scan = [&] {
    static_cast<void>(
        reader->for_each_op([](const Op&) -> bool { throw std::runtime_error("no memory"); }));
  };
  EXPECT_THROW(scan(), std::runtime_error);
  std::int64_t ops = 0;
  ASSERT_OK(reader->for_each_op([&ops](const Op&) { return ++ops > 0; }));  // and can go on
  EXPECT_EQ(ops, *reader->op_count());
}

// A deleted store is no matter of permissions.
TEST(UntrustedStore, ADeletedOneIsSaidToBeGone) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  ASSERT_OK((*writer)->flush());
  for (const char* file : {"run.db", "run.db-wal", "run.db-shm"}) {
    std::filesystem::remove(dir / file);
  }
  expect_error((*writer)->finish(), ErrorKind::kNotFound, dir / "run.db", {"deleted or moved"});
}

}  // namespace
}  // namespace stepscope

// Stores while they are written, and after their recorder died.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/child.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::SyntheticRun;
using testing::TempDir;

std::vector<Op> some_ops(std::size_t count) {
  Op op;
  op.thread = ThreadId{1};
  op.name = StringId{1};
  op.dur = op.self = Duration(1000);
  std::vector<Op> ops(count, op);
  for (std::size_t i = 0; i < count; ++i) {
    ops[i].start = session_time(static_cast<std::int64_t>(i) * 1'000'000'000);
  }
  return ops;
}

std::int64_t ops_in(const fs::path& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? *(*reader)->op_count() : -1;
}

std::string integrity_of(const fs::path& path) {
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status().message();
  const auto text = database->query_text("PRAGMA integrity_check");
  return text.ok() ? *text : text.status().message();
}

// A child that has committed 1000 ops, has more in an open transaction, and then waits.
int record_and_wait(const fs::path& path, const Child::Ready& ready) {
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return 1;
  if (!(*writer)->add(some_ops(1000)).ok() || !(*writer)->flush().ok()) return 2;
  // Enough to make SQLite write a part of it to the log before any commit.
  if (!(*writer)->add(some_ops(2'000'000)).ok()) return 3;
  ready();
  ::pause();
  return 0;
}

// A recorder must not fail because another program writes to its store: it writes later.
TEST(Liveness, AWriterSeesAnothersLock) {
  using namespace std::chrono_literals;
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  auto other = Database::open(dir / "run.db", SQLITE_OPEN_READWRITE);
  ASSERT_OK(other.status());
  ASSERT_OK(other->exec("BEGIN IMMEDIATE"));
  EXPECT_FALSE((*writer)->try_begin(0ms));
  EXPECT_FALSE((*writer)->try_begin(1ms));
  ASSERT_OK(other->exec("CREATE TABLE mine(a)"));
  ASSERT_OK(other->exec("COMMIT"));
  EXPECT_TRUE((*writer)->try_begin(0ms));
  EXPECT_TRUE((*writer)->try_begin(0ms)) << "it has begun";
  ASSERT_OK((*writer)->add(some_ops(10)));
  ASSERT_OK((*writer)->finish());
  EXPECT_EQ(ops_in(dir / "run.db"), 10);
}

TEST(Liveness, AWriterThatWroteNothingKeepsNobodyWaiting) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  auto other = Database::open(dir / "run.db", SQLITE_OPEN_READWRITE);
  ASSERT_OK(other.status());
  other->set_lock_patience({});
  ASSERT_TRUE((*writer)->try_begin({}));
  (*writer)->end_if_unused();
  ASSERT_OK(other->exec("BEGIN IMMEDIATE"));
  ASSERT_OK(other->exec("COMMIT"));
  ASSERT_TRUE((*writer)->try_begin({}));
  ASSERT_OK((*writer)->add(some_ops(10)));
  (*writer)->end_if_unused();
  EXPECT_FALSE(other->exec("BEGIN IMMEDIATE").ok()) << "what it wrote is not committed yet";
  ASSERT_OK((*writer)->flush());
  ASSERT_OK(other->exec("BEGIN IMMEDIATE"));
}

TEST(Liveness, AReaderSeesTheLastFlushAndKeepsItsSnapshot) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  ASSERT_OK((*writer)->add(some_ops(10)));
  EXPECT_EQ(ops_in(dir / "run.db"), 0);
  ASSERT_OK((*writer)->flush());
  const auto early = testing::open_store(dir / "run.db");
  EXPECT_TRUE(early->being_recorded());
  ASSERT_OK((*writer)->add(some_ops(5)));
  ASSERT_OK((*writer)->flush());
  EXPECT_EQ(*early->op_count(), 10);
  EXPECT_EQ(ops_in(dir / "run.db"), 15);
  // The reader keeps the log in use; the store is complete all the same.
  ASSERT_OK((*writer)->finish());
  EXPECT_FALSE(early->being_recorded());
  EXPECT_EQ(*early->op_count(), 10);
  const auto late = testing::open_store(dir / "run.db");
  EXPECT_EQ(*late->op_count(), 15);
  EXPECT_EQ(late->meta("state"), "complete");
}

// A checkpoint copies the whole log in one go, and the rings are not drained meanwhile.
TEST(Liveness, TheLogStaysSmallWhileMuchIsRecorded) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  const std::vector<Op> ops = some_ops(50'000);
  std::uintmax_t most = 0;
  for (int i = 0; i < 30; ++i) {
    ASSERT_OK((*writer)->add(ops));
    ASSERT_OK((*writer)->flush());
    most = std::max(most, fs::file_size(dir / "run.db-wal"));
  }
  ASSERT_OK((*writer)->finish());
  EXPECT_GT(fs::file_size(dir / "run.db"), 30U << 20);
  EXPECT_LT(most, 12U << 20);
}

TEST(Liveness, TheLogGoesAwayWithTheLastReader) {
  const TempDir dir;
  {
    auto writer = TraceWriter::create(dir / "run.db");
    ASSERT_OK(writer.status());
    const auto reader = testing::open_store(dir / "run.db");
    ASSERT_OK((*writer)->add(some_ops(5)));
    ASSERT_OK((*writer)->finish());
  }
  EXPECT_FALSE(fs::exists(dir / "run.db-wal"));
  EXPECT_EQ(ops_in(dir / "run.db"), 5);
}

TEST(Liveness, AStoreBeingRecordedIsLeftAloneWithinThisProcess) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  for (const auto existing : {ExistingStore::kKeepAsOld, ExistingStore::kRefuse}) {
    expect_error(TraceWriter::create(dir / "run.db", existing).status(), ErrorKind::kBusy,
                 dir / "run.db", {"recording"});
  }
  expect_error(TraceWriter::open(dir / "run.db").status(), ErrorKind::kBusy, dir / "run.db",
               {"recording"});
  ASSERT_OK((*writer)->add(some_ops(5)));
  ASSERT_OK((*writer)->finish());
  EXPECT_EQ(ops_in(dir / "run.db"), 5);
  EXPECT_OK(TraceWriter::create(dir / "run.db").status());
}

TEST(Liveness, AStoreBeingRecordedIsLeftAloneByOtherProcesses) {
  const TempDir dir;
  Child recorder([&](const Child::Ready& ready) { return record_and_wait(dir / "run.db", ready); });
  ASSERT_TRUE(recorder.wait_until_ready());
  expect_error(TraceWriter::create(dir / "run.db").status(), ErrorKind::kBusy, dir / "run.db",
               {"recording"});
  expect_error(TraceWriter::open(dir / "run.db").status(), ErrorKind::kBusy, dir / "run.db",
               {"recording"});
  const auto reader = testing::open_store(dir / "run.db");
  EXPECT_TRUE(reader->being_recorded());
  EXPECT_EQ(*reader->op_count(), 1000);
  recorder.kill();
  EXPECT_FALSE(reader->being_recorded());
}

TEST(Liveness, AKilledRecorderLeavesTheLastFlush) {
  const TempDir dir;
  {
    Child recorder(
        [&](const Child::Ready& ready) { return record_and_wait(dir / "run.db", ready); });
    ASSERT_TRUE(recorder.wait_until_ready());
    recorder.kill();
  }
  {
    const auto reader = testing::open_store(dir / "run.db");
    EXPECT_FALSE(reader->being_recorded());
    EXPECT_EQ(*reader->op_count(), 1000);
    EXPECT_EQ(reader->meta("state"), "recording");  // this is how a reader sees that it was cut off
  }
  EXPECT_EQ(integrity_of(dir / "run.db"), "ok");
  auto writer = TraceWriter::open(dir / "run.db");  // it can still be analysed
  ASSERT_OK(writer.status());
  ASSERT_OK((*writer)->replace_analysis(testing::true_analysis({})));
  ASSERT_OK((*writer)->finish());
  EXPECT_FALSE(fs::exists(dir / "run.db-wal"));
  EXPECT_EQ(ops_in(dir / "run.db"), 1000);
}

TEST(Liveness, AKilledRecordersStoreIsMovedAsideWithItsLog) {
  const TempDir dir;
  {
    Child recorder(
        [&](const Child::Ready& ready) { return record_and_wait(dir / "run.db", ready); });
    ASSERT_TRUE(recorder.wait_until_ready());
    recorder.kill();
  }
  ASSERT_TRUE(fs::exists(dir / "run.db-wal"));
  testing::make_store(dir / "run.db", {});
  EXPECT_EQ(ops_in(dir / "run.db.old"), 1000);
  EXPECT_EQ(ops_in(dir / "run.db"), SyntheticRun{}.op_count());
}

TEST(Liveness, AKilledAnalysisLeavesTheEarlierOne) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {}, /*analysed=*/true);
  {
    Child analyzer([&](const Child::Ready& ready) {
      auto database = Database::open(dir / "run.db", SQLITE_OPEN_READWRITE);
      if (!database.ok()) return 1;
      // Spills at once: the file is changed and only the journal can undo it.
      if (!database
               ->exec("PRAGMA cache_size = 1; BEGIN; DELETE FROM step; DELETE FROM step_time;"
                      "UPDATE op SET dur_ns = 0;")
               .ok()) {
        return 2;
      }
      sqlite3_db_cacheflush(database->handle());
      ready();
      ::pause();
      return 0;
    });
    ASSERT_TRUE(analyzer.wait_until_ready());
    analyzer.kill();
  }
  ASSERT_TRUE(fs::exists(dir / "run.db-journal"));
  const auto analysis = testing::open_store(dir / "run.db")->analysis();
  ASSERT_OK(analysis.status());
  EXPECT_EQ(analysis->steps.size(), 20u);
  EXPECT_FALSE(fs::exists(dir / "run.db-journal"));
}

// A data loader's worker is such a child: it inherits everything and ends in its own ways.
TEST(Liveness, AForkedChildOfTheRecorderDoesNoHarm) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  ASSERT_OK((*writer)->add(some_ops(5)));
  Child child([&](const Child::Ready&) {
    if ((*writer)->add(some_ops(100)).ok()) return 1;
    writer->reset();  // the destructor, as at exit()
    return 0;
  });
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_TRUE(testing::open_store(dir / "run.db")->being_recorded());
  ASSERT_OK((*writer)->add(some_ops(5)));
  ASSERT_OK((*writer)->finish());
  EXPECT_EQ(ops_in(dir / "run.db"), 10);
  EXPECT_EQ(integrity_of(dir / "run.db"), "ok");
}

TEST(Liveness, AForkedChildThatOutlivesTheRecorderDoesNotKeepTheStoreBusy) {
  const TempDir dir;
  pid_t worker = 0;
  int to_parent[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  {
    Child recorder([&](const Child::Ready& ready) {
      auto writer = TraceWriter::create(dir / "run.db");
      if (!writer.ok()) return 1;
      // The grandchild reports itself, because only once it runs has it let go of the store.
      if (::fork() == 0) {
        const pid_t pid = ::getpid();
        [[maybe_unused]] const auto n = ::write(to_parent[1], &pid, sizeof(pid));
        ::pause();
        ::_exit(0);
      }
      ready();
      ::pause();
      return 0;
    });
    ASSERT_TRUE(recorder.wait_until_ready());
    ASSERT_EQ(::read(to_parent[0], &worker, sizeof(worker)), static_cast<ssize_t>(sizeof(pid_t)));
    EXPECT_TRUE(testing::open_store(dir / "run.db")->being_recorded());
    recorder.kill();
  }
  EXPECT_FALSE(testing::open_store(dir / "run.db")->being_recorded());
  ::kill(worker, SIGKILL);
  ::close(to_parent[0]);
  ::close(to_parent[1]);
}

TEST(Liveness, AFactCanStillBeAddedToAStoppedStore) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_TRUE(writer.ok());
  ASSERT_OK((*writer)->set_meta("first", "kept"));
  ASSERT_OK((*writer)->flush());
  ASSERT_OK((*writer)->set_meta("second", "dropped"));
  (*writer)->stop_writing(Status::error(ErrorKind::kIo, "no more"));
  EXPECT_EQ((*writer)->set_meta("third", "refused").message(), "no more");
  ASSERT_OK((*writer)->set_last_meta("last", "stored"));
  const auto reader = TraceReader::open(dir / "run.db");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->meta("first"), "kept");
  EXPECT_EQ((*reader)->meta("second"), std::nullopt);
  EXPECT_EQ((*reader)->meta("last"), "stored");
  EXPECT_EQ((*writer)->finish().message(), "no more");
  EXPECT_EQ((*writer)->set_last_meta("later", "").kind(), ErrorKind::kUsage) << "it is closed";
}

// Files of this process may not grow beyond `bytes`: this acts like a full disk.
void limit_file_size(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(Liveness, AFullDiskStopsTheRecordingAndKeepsWhatWasFlushed) {
  const TempDir dir;
  Child recorder([&](const Child::Ready&) {
    auto created = TraceWriter::create(dir / "run.db");
    if (!created.ok()) return 1;
    TraceWriter& writer = **created;
    if (!writer.add(some_ops(1000)).ok() || !writer.flush().ok()) return 2;
    limit_file_size(20 << 20);
    Status first;
    for (int i = 0; i < 100 && first.ok(); ++i) {
      first = writer.add(some_ops(100'000));
    }
    if (first.kind() != ErrorKind::kIo) return 3;
    if (first.message().find("run.db") == std::string::npos) return 4;
    // From now on, every call fails with the same error.
    if (writer.add(some_ops(1)).message() != first.message()) return 5;
    if (writer.flush().message() != first.message()) return 6;
    if (writer.intern("new") != StringId::kNone) return 7;
    if (writer.set_meta("a", "b").message() != first.message()) return 8;
    if (writer.finish().message() != first.message()) return 9;
    return 0;
  });
  EXPECT_EQ(recorder.exit_code(), 0);
  EXPECT_EQ(ops_in(dir / "run.db"), 1000);
  EXPECT_EQ(integrity_of(dir / "run.db"), "ok");
}

TEST(Liveness, ADiskThatIsFullAtTheStartLeavesNoHalfStore) {
  const TempDir dir;
  Child recorder([&](const Child::Ready&) {
    limit_file_size(100'000);
    const Status status = TraceWriter::create(dir / "run.db").status();
    return status.kind() == ErrorKind::kIo ? 0 : 1;
  });
  EXPECT_EQ(recorder.exit_code(), 0);
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(Liveness, ADiskThatFillsUpAtTheEndLosesNothing) {
  const TempDir dir;
  Child recorder([&](const Child::Ready&) {
    auto writer = TraceWriter::create(dir / "run.db");
    if (!writer.ok()) return 1;
    // Less than a checkpoint's worth: all of it is still in the log, and the file cannot grow.
    if (!(*writer)->add(some_ops(200'000)).ok() || !(*writer)->flush().ok()) return 2;
    limit_file_size(fs::file_size(dir / "run.db") + 100'000);
    return (*writer)->finish().kind() == ErrorKind::kIo ? 0 : 3;
  });
  EXPECT_EQ(recorder.exit_code(), 0);
  EXPECT_EQ(ops_in(dir / "run.db"), 200'000);
  EXPECT_EQ(integrity_of(dir / "run.db"), "ok");
}

TEST(Liveness, ANewRecordingWaitsForNoReaderOfAFinishedStore) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto reader = testing::open_store(dir / "run.db");
  SyntheticRun next;
  next.steps = 3;
  testing::make_store(dir / "run.db", next);
  EXPECT_EQ(*reader->op_count(),
            SyntheticRun{}.op_count());  // it keeps reading the file, which is now PATH.old
  EXPECT_EQ(ops_in(dir / "run.db"), next.op_count());
}

}  // namespace
}  // namespace stepscope

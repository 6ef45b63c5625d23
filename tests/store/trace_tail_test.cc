// What a recording adds between two looks at it.
#include "store/trace_tail.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/store_tables.h"
#include "store/thread_rows.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::TempDir;

// A recording whose threads are scheduled and looked at, a row of each kind at a time.
class WatchedRun {
 public:
  explicit WatchedRun(const std::filesystem::path& path) {
    auto writer = TraceWriter::create(path);
    EXPECT_OK(writer.status());
    writer_ = *std::move(writer);
    const auto process = writer_->add_process({77, "train", "./train"});
    EXPECT_OK(process.status());
    thread_ = *writer_->add_thread({*process, 77, 0, "main"});
    watched_ = *writer_->add_watched_thread({*process, 77, 77, "main"});
    file_ = writer_->intern("/src/train.py");
    EXPECT_OK(writer_->flush());
  }

  // Row `i` of each table, from 1 on.
  void add_rows(int i) {
    const SessionTime at = session_time(1000 * std::int64_t{i});
    EXPECT_OK(writer_->add(
        std::vector<ThreadStretch>{{thread_, at, Duration(10), Duration(i), Duration(1)}}));
    EXPECT_OK(
        writer_->add(std::vector<ThreadReading>{{watched_, at, Duration(i), Duration(2), 0}}));
    const StringId function = writer_->intern("f" + std::to_string(i));
    EXPECT_OK(
        writer_->add(std::vector<StackFrame>{{static_cast<FrameId>(i - 1), function, file_, i}}));
    EXPECT_OK(writer_->add(std::vector<StackSample>{
        {watched_, at, static_cast<FrameId>(i), i % 2 == 0, StringId::kNone}}));
    EXPECT_OK(writer_->add(NativeSample{watched_, at, function}));
    EXPECT_OK(writer_->flush());
  }

 private:
  std::unique_ptr<TraceWriter> writer_;
  ThreadId thread_ = ThreadId::kNone;
  WatchedThreadId watched_ = WatchedThreadId::kNone;
  StringId file_ = StringId::kNone;
};

TEST(TraceTail, EachLookGivesWhatCameSinceTheLast) {
  const TempDir dir;
  WatchedRun run(dir / "run.db");
  const auto tail = TraceTail::open(dir / "run.db");
  ASSERT_OK(tail.status());
  int rows = 0;
  for (const int more : {2, 0, 1, 3}) {
    const int before = rows;
    for (int i = 0; i < more; ++i) run.add_rows(++rows);
    const auto news = (*tail)->read({.phases = 1'000, .events = 1'000});
    ASSERT_OK(news.status());
    ASSERT_EQ(news->stretches.size(), static_cast<std::size_t>(more));
    ASSERT_EQ(news->thread_readings.size(), static_cast<std::size_t>(more));
    ASSERT_EQ(news->native_samples.size(), static_cast<std::size_t>(more));
    for (int i = 0; i < more; ++i) {
      const auto place = static_cast<std::size_t>(i);
      EXPECT_EQ(news->stretches[place].run, Duration(before + 1 + i));
      EXPECT_EQ(news->thread_readings[place].run, Duration(before + 1 + i));
      EXPECT_EQ((*tail)->text(news->native_samples[place].library),
                "f" + std::to_string(before + 1 + i));
    }
    EXPECT_EQ(news->watched_threads.size(), 1U) << "all of them, each time";
  }
}

// The rows that a reader has yet to see.
TEST(ThreadRows, AreReadFromAnyIdOn) {
  const TempDir dir;
  WatchedRun run(dir / "run.db");
  constexpr int kRows = 5;
  for (int i = 1; i <= kRows; ++i) run.add_rows(i);
  auto tables = StoreTables::open(dir / "run.db");
  ASSERT_OK(tables.status());
  ASSERT_OK((*tables)->load());
  Database& database = (*tables)->database;
  const KnownIds known = (*tables)->known();
  for (int after = 0; after <= kRows; ++after) {
    const auto frames = read_frames(database, known, after);
    ASSERT_OK(frames.status());
    ASSERT_EQ(frames->size(), static_cast<std::size_t>(kRows - after));
    int next = after;
    for (const StackFrame& frame : *frames) EXPECT_EQ(frame.line, ++next);
    next = after;
    const auto sample = [&next](const StackSample& sample) {
      EXPECT_EQ(sample.frame, static_cast<FrameId>(++next));
      EXPECT_EQ(sample.awaited, next % 2 == 0);
    };
    ASSERT_OK(scan_stack_samples(database, known, 1, kRows, sample, after));
    EXPECT_EQ(next, kRows);
    next = after;
    const auto stretch = [&next](const ThreadStretch& stretch) {
      EXPECT_EQ(stretch.run, Duration(++next));
    };
    ASSERT_OK(scan_stretches(database, known, stretch, after));
    EXPECT_EQ(next, kRows);
    next = after;
    const auto reading = [&next](const ThreadReading& reading) {
      EXPECT_EQ(reading.run, Duration(++next));
    };
    ASSERT_OK(scan_thread_readings(database, known, 1, reading, after));
    EXPECT_EQ(next, kRows);
  }
}

}  // namespace
}  // namespace stepscope

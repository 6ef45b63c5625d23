// What becomes of an earlier recording when a new one takes its path: it is lost to nothing but
// another recording that holds something.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "store/store_path.h"
#include "store/text_lines.h"
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

SyntheticRun run_of(int steps) {
  SyntheticRun run;
  run.steps = steps;
  return run;
}

std::int64_t ops_in(const fs::path& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? *(*reader)->op_count() : -1;
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

// A recording of a program that came to nothing: a process, and no event but the profiler's own
// mark that ops are recorded.
void make_empty(const fs::path& path) {
  auto writer = TraceWriter::create(path);
  ASSERT_OK(writer.status());
  const auto process = (*writer)->add_process({1, "python", "python train.py", 0, -1});
  ASSERT_OK(process.status());
  const auto thread = (*writer)->add_thread({*process, 1, 0, "python"});
  ASSERT_OK(thread.status());
  ASSERT_OK((*writer)->add(Phase{*thread, PhaseKind::kOpsBegin, StringId::kNone, {}, {}, {}}));
  ASSERT_OK((*writer)->finish());
}

TEST(Replacing, RecordingsWithoutEventsPushNothingOut) {
  const TempDir dir;
  const fs::path path = dir / "run.db", old = dir / "run.db.old";
  testing::make_store(path, run_of(1));
  testing::make_store(path, run_of(2));
  for (int start = 0; start < 3; ++start) make_empty(path);
  EXPECT_EQ(ops_in(path), 0);
  EXPECT_EQ(ops_in(old), run_of(2).op_count());
  testing::make_store(path, run_of(3));
  EXPECT_EQ(ops_in(path), run_of(3).op_count());
  EXPECT_EQ(ops_in(old), run_of(2).op_count());
  EXPECT_EQ(files_in(dir.path()), 2);
}

TEST(Replacing, NobodyGetsARightThatTheyDidNotHave) {
  const TempDir dir;
  const fs::path path = dir / "run.db";
  const mode_t before = ::umask(022);
  for (const auto [earlier, expected] :
       {std::pair{0600U, 0600U}, {0640U, 0640U}, {0666U, 0644U}, {0444U, 0644U}}) {
    fs::remove(path);
    testing::make_store(path, run_of(1));
    fs::permissions(path, static_cast<fs::perms>(earlier));
    testing::make_store(path, run_of(2));
    EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(expected)) << earlier;
  }
  ::umask(before);
}

TEST(Replacing, ADiscardedStoreGivesThePathBack) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  ASSERT_OK(testing::record(run_of(3), **writer));
  ASSERT_OK((*writer)->flush());
  (*writer)->discard();
  writer->reset();
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(1).op_count());
  EXPECT_EQ(files_in(dir.path()), 1);
}

TEST(Replacing, ADiscardedStoreOnAFreePathIsGone) {
  const TempDir dir;
  auto writer = TraceWriter::create(dir / "run.db");
  ASSERT_OK(writer.status());
  (*writer)->discard();
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

// At every moment there is a recording at the path, whole, and the one before it beside.
TEST(Replacing, AKillAtAnyMomentLeavesARecordingAtThePath) {
  constexpr int kKills = 100;
  const TempDir dir;
  const fs::path path = dir / "run.db", old = dir / "run.db.old";
  testing::make_store(path, run_of(1));
  int replaced = 0;
  // On a busy machine the child may not come to replace anything in so short a time.
  for (int kill = 0; kill < kKills || (replaced == 0 && kill < 10 * kKills); ++kill) {
    struct stat before{}, after{};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    Child child([&](const Child::Ready& ready) {
      ready();
      while (true) {
        auto writer = TraceWriter::create(path);
        if (!writer.ok() || !testing::record(run_of(2), **writer).ok()) return 1;
      }
    });
    ASSERT_TRUE(child.wait_until_ready());
    ::usleep(static_cast<useconds_t>(kill * 211));  // a prime: each comes at another point
    child.kill();
    ASSERT_EQ(::stat(path.c_str(), &after), 0) << "kill " << kill;
    if (after.st_ino != before.st_ino) ++replaced;
    EXPECT_OK(TraceReader::open(path).status());
    if (fs::exists(old)) EXPECT_OK(TraceReader::open(old).status());
  }
  EXPECT_GT(replaced, 0);
  testing::make_store(path, run_of(5));
  EXPECT_EQ(ops_in(path), run_of(5).op_count());
}

// As a kill between the two steps of replacing leaves it.
TEST(Replacing, OneFileUnderBothNamesIsReplaced) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  fs::create_hard_link(dir / "run.db", dir / "run.db.old");
  EXPECT_OK(check_path(dir / "run.db"));
  testing::make_store(dir / "run.db", run_of(2));
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(2).op_count());
  EXPECT_EQ(ops_in(dir / "run.db.old"), run_of(1).op_count());
}

TEST(Replacing, AClaimKeepsOthersAwayAndChangesNothing) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  {
    auto claim = claim_existing(dir / "run.db");
    ASSERT_OK(claim.status());
    ASSERT_TRUE(claim->has_value());
    expect_error(claim_existing(dir / "run.db").status(), ErrorKind::kBusy, dir / "run.db",
                 {"about to replace it"});
    expect_error(TraceWriter::create(dir / "run.db").status(), ErrorKind::kBusy, dir / "run.db",
                 {"about to replace it"});
    auto reader = TraceReader::open(dir / "run.db");
    ASSERT_OK(reader.status());
    EXPECT_FALSE((*reader)->being_recorded());
    EXPECT_OK(TraceWriter::open(dir / "run.db").status());  // it may be analyzed meanwhile
    EXPECT_EQ(files_in(dir.path()), 1);
  }
  EXPECT_OK(TraceWriter::create(dir / "run.db").status());
}

TEST(Replacing, AFreePathIsNotClaimed) {
  const TempDir dir;
  auto claim = claim_existing(dir / "run.db");
  ASSERT_OK(claim.status());
  EXPECT_FALSE(claim->has_value());
}

TEST(Replacing, AFolderThatTakesNoFilesIsNamed) {
  expect_error(TraceWriter::create("/proc/x.db").status(), ErrorKind::kIo, "/proc/x.db",
               {"no file can be created there"});
  const TempDir dir;
  std::ofstream(dir / "file") << "mine";
  const fs::path below = dir / "file" / "run.db";
  expect_error(TraceWriter::create(below).status(), ErrorKind::kIo, below,
               {"its folder is a file"});
}

TEST(TextLines, AreTheListAgain) {
  const std::vector<std::vector<std::string>> lists = {
      {}, {""}, {"", ""}, {"python", "-c", "print(1)\nprint('\\n')"}, {"\\", "\\n", "a\\"}};
  for (const std::vector<std::string>& list : lists)
    EXPECT_EQ(split_lines(join_lines(list)), list) << join_lines(list);
  EXPECT_EQ(join_lines({"train.py", "--lr", "0.1"}), "train.py\n--lr\n0.1\n");
}

TEST(TextLines, AnythingCanBeSplit) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(split_lines("a\\"), Lines{"a\\"});
  EXPECT_EQ(split_lines("no end"), Lines{"no end"});
  EXPECT_EQ(split_lines("\\x\n"), Lines{"x"});
}

}  // namespace
}  // namespace stepscope

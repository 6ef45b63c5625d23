// A run that is followed while it is recorded: what is told of its latest steps, how they are
// counted, and that nothing is held open in between.
#include "analyzer/live/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "analyzer/analyze.h"
#include "present/death_words.h"
#include "present/verdict_words.h"
#include "store/counters.h"
#include "store/sqlite.h"
#include "tests/store/testing/growing_run.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

constexpr Duration kMs{1'000'000};

class LiveRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    recording_ = std::make_unique<GrowingRun>(store_);
    auto live = LiveRun::open(store_);
    ASSERT_TRUE(live.ok()) << live.status().message();
    live_ = *std::move(live);
  }
  const LiveFrame& frame() {
    const auto frame = live_->refresh();
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    return **frame;
  }

  const TempDir dir_;
  const std::filesystem::path store_ = dir_ / "run.db";
  std::unique_ptr<GrowingRun> recording_;
  std::unique_ptr<LiveRun> live_;
};

TEST_F(LiveRunTest, SaysThatThereIsNoStepYet) {
  const LiveFrame& empty = frame();
  EXPECT_TRUE(empty.being_recorded);
  EXPECT_TRUE(empty.window.loops.empty());
  EXPECT_THAT(no_steps_text(empty.window), HasSubstr("nothing was recorded"));
}

TEST_F(LiveRunTest, TellsOfStepsThatHaveEnded) {
  recording_->steps(10, kMs, 3 * kMs);
  recording_->wait_for_input(9 * kMs);  // and training on it goes on
  const LiveFrame& now = frame();
  ASSERT_EQ(now.loops.size(), 1U);
  EXPECT_EQ(now.loops[0].steps, 9);  // of the tenth, the end is known only by the next wait's
  EXPECT_EQ(now.window.loops[0].wall.mean, to_ns(4 * kMs));
  const auto input = static_cast<std::size_t>(Category::kInput);
  EXPECT_NEAR(now.window.loops[0].shares[input], 0.25, 1e-9);
  EXPECT_EQ(now.loops[0].history.back().dur, 4 * kMs);
}

TEST_F(LiveRunTest, TellsTheLineThatItIsIn) {
  recording_->steps(10, kMs, 3 * kMs);
  EXPECT_TRUE(frame().loops[0].now.empty());
  recording_->look({"main", "forward"});
  recording_->look({"worker", "decode"}, /*worker=*/true);
  recording_->steps(1, kMs, 3 * kMs);
  recording_->look({"main", "step"});
  const std::vector<LastLine> now = frame().loops[0].now;
  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(now[0].place, "train.py:5 step");
  EXPECT_EQ(now[1].place, "train.py:4 decode");
  EXPECT_EQ(now[1].thread, "pt_data_worker");

  recording_->steps(1, 2000 * kMs, 3 * kMs);  // the worker was last awaited long ago
  recording_->look({"main", "step"});
  EXPECT_EQ(frame().loops[0].now.size(), 1U);

  recording_->finish();
  EXPECT_TRUE(frame().loops[0].now.empty());
}

TEST_F(LiveRunTest, SaysThatItsRecorderIsGone) {
  recording_->steps(10, kMs, 3 * kMs);
  EXPECT_EQ(gap_sentence(frame().window.run), "");
  recording_.reset();  // a recorder that is killed does not say that it has ended
  auto store = Database::open(store_, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store->exec("UPDATE meta SET value = 'recording' WHERE key = 'state'").ok());
  const LiveFrame& now = frame();
  EXPECT_FALSE(now.being_recorded);
  EXPECT_FALSE(now.finished);
  EXPECT_THAT(gap_sentence(now.window.run), HasSubstr("everything after 41.0 ms is missing"));
}

TEST_F(LiveRunTest, DividesTheLatestStepsAmongLines) {
  for (int i = 0; i < 120; ++i) {
    recording_->wait_for_input(kMs);
    recording_->look({"worker", i % 4 == 0 ? "decode" : "read"}, /*worker=*/true);
    frame();  // in small pieces
    recording_->steps(1, Duration(0), kMs);
  }
  std::map<std::string, double> shares;
  for (const LineShare& line : frame().window.loops[0].lines)
    if (line.place == LinePlace::kWorker) shares[line.function] = line.share;
  EXPECT_NEAR(shares["decode"], 0.25, 0.02);
  EXPECT_NEAR(shares["read"], 0.75, 0.02);
}

TEST_F(LiveRunTest, ReadsWhatCameSince) {
  recording_->steps(10, kMs, 3 * kMs);
  ASSERT_EQ(frame().loops[0].steps, 9);
  recording_->steps(10, kMs, 3 * kMs);
  const LiveFrame& now = frame();
  EXPECT_EQ(now.loops[0].steps, 19);
  EXPECT_EQ(now.op_count, 20);
  EXPECT_EQ(now.loops[0].history.size(), 19U);
  EXPECT_EQ(frame().loops[0].steps, 19);  // nothing new
}

TEST_F(LiveRunTest, CountsStepsThatItHoldsNoMore) {
  for (int i = 0; i < 5; ++i) {
    recording_->steps(2000, kMs, kMs);
    frame();
  }
  const LiveFrame& now = frame();
  EXPECT_EQ(now.loops[0].steps, 9999);
  EXPECT_LE(now.loops[0].history.size(), kLiveHistory);
  EXPECT_LT(now.window.loops[0].steps.size(), 9000U);
  EXPECT_EQ(now.window.loops[0].steps.back().number, 10'000);
}

TEST_F(LiveRunTest, CountsTheSameWhenItComesLate) {
  recording_->steps(30'000, kMs, kMs);
  EXPECT_EQ(frame().loops[0].steps, 29'999);
}

TEST_F(LiveRunTest, TellsOfTheLatestStepsOnly) {
  recording_->steps(40'000, kMs, kMs);
  frame();
  recording_->steps(40'000, 3 * kMs, kMs);
  const LiveFrame& now = frame();
  const auto input = static_cast<std::size_t>(Category::kInput);
  EXPECT_NEAR(now.window.loops[0].shares[input], 0.75, 1e-9);
  EXPECT_EQ(now.window.loops[0].verdict.kind, "input-bound");
}

TEST_F(LiveRunTest, SaysOfAFinishedRunWhatAnalyzeSays) {
  recording_->steps(50, kMs, 4 * kMs);
  frame();
  recording_->finish();
  const LiveFrame& now = frame();
  EXPECT_FALSE(now.being_recorded);
  EXPECT_TRUE(now.finished);
  EXPECT_EQ(now.loops[0].steps, 50);
  const auto whole = analyze(*open_store(store_));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(now.window.loops[0].shares, whole->loops[0].shares);
  EXPECT_EQ(verdict_sentence(now.window.loops[0]), verdict_sentence(whole->loops[0]));
}

TEST_F(LiveRunTest, KnowsTheLatestSamplesLossesAndDeaths) {
  recording_->steps(5, kMs, kMs);
  recording_->sample(counter::kRss, 100);
  recording_->sample(counter::kRss, 200);
  EXPECT_EQ(frame().memory.at(0).rss_bytes, 200);
  EXPECT_EQ(frame().memory.at(0).tensor_bytes, std::nullopt);
  recording_->lose(12);
  recording_->die(9);
  const LiveFrame& now = frame();
  EXPECT_EQ(now.window.lost(), 12);
  ASSERT_EQ(now.window.deaths.size(), 1U);
  EXPECT_THAT(death_sentences(now.window)[0], HasSubstr("SIGKILL"));
  EXPECT_TRUE(now.memory.empty());  // of a process that is no more
}

TEST_F(LiveRunTest, HoldsNoTransactionBetweenFrames) {
  recording_->steps(100, kMs, kMs);
  frame();
  recording_->steps(100, kMs, kMs);
  // A reader that held one would keep a checkpoint from folding the whole log in.
  auto database = Database::open(store_, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok());
  auto row = database->prepare("PRAGMA wal_checkpoint(PASSIVE)");
  ASSERT_TRUE(row.ok() && *row->next());
  EXPECT_EQ(row->integer(1), row->integer(2)) << "pages of the log, and those folded in";
}

}  // namespace
}  // namespace stepscope::testing

// A frame of `stepscope top`, and the course of the step time in it.
#include "present/top_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "present/terminal_text.h"
#include "present/trend_line.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

std::vector<LiveStep> steps_of(const std::vector<int>& milliseconds) {
  std::vector<LiveStep> steps;
  SessionTime end = session_time(0);
  for (const int ms : milliseconds) {
    const Duration dur(std::int64_t{ms} * 1'000'000);
    steps.push_back({end += dur, dur});
  }
  return steps;
}

TEST(TrendLine, IsTheMeanStepOfEachPieceOfTime) {
  EXPECT_EQ(sparkline(trend_points(steps_of({1, 1, 1, 1}), 4)), "████");
  EXPECT_EQ(sparkline(trend_points(steps_of({1, 1, 8, 8}), 2)), "▂█");
  const auto points = trend_points(steps_of({2, 2, 4, 8}), 4);
  EXPECT_EQ(points.back().mean_ns, 8'000'000);
  EXPECT_TRUE(trend_points({}, 10).empty());
}

TEST(TrendLine, LeavesOutTheFirstStepOfTheRun) {
  LiveLoop loop;
  EXPECT_TRUE(without_first_step(loop).empty());
  loop.history = steps_of({1000, 4, 4});
  loop.steps = 3;
  EXPECT_EQ(without_first_step(loop).size(), 2U);
  loop.steps = 30;  // the first of the history is not the first of the run
  EXPECT_EQ(without_first_step(loop).size(), 3U);
}

// The first step includes the start of the program.
TEST(TopTextWords, EqualStepsAreNoTrend) {
  LiveFrame now;
  LiveLoop live;
  live.history = steps_of({3000, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 900, 5, 5, 5, 5, 5, 5, 5, 5, 5});
  live.steps = 21;
  now.loops.push_back(live);
  now.window.loops.emplace_back();
  now.window.loops[0].analysed = {0};
  now.window.loops[0].steps.emplace_back();
  std::string text;
  for (const std::string& line : top_lines(now, {})) text += line + "\n";
  EXPECT_NE(text.find("+0.0 % lately"), std::string::npos) << text;
}

class TopText : public ::testing::Test {
 protected:
  void SetUp() override { make_store(store_, {.steps = 60, .lost_ops = 3, .samples = true}); }

  LiveFrame frame() {
    live_ = *LiveRun::open(store_);
    return **live_->refresh();
  }

  const TempDir dir_;
  const std::string store_ = dir_ / "run.db";
  std::unique_ptr<LiveRun> live_;
};

TEST_F(TopText, FitsAnyTerminal) {
  const LiveFrame now = frame();
  for (const std::size_t width : {40U, 60U, 80U, 100U}) {
    for (const std::string& line : top_lines(now, {.width = width, .height = 0, .top_ops = 5})) {
      EXPECT_LE(width_of(line), width) << line;
    }
  }
  EXPECT_EQ(top_lines(now, {.height = 7}).size(), 7U);
}

TEST_F(TopText, SaysWhichLineItIsIn) {
  LiveFrame now = frame();
  LastLine wait, decode;
  wait.place = "train.py:12 main";
  wait.inside = "torch/utils/data/dataloader.py:701 __next__";
  wait.blocked = "poll";
  decode.place = "data.py:41 de\x1b[31mcode";
  now.loops.front().now = {wait, decode};
  std::string text;
  for (const std::string& line : top_lines(now, {.width = 100})) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("\nnow         train.py:12 main → "
                              "torch/utils/data/dataloader.py:701 __next__, blocked in poll\n"
                              "  worker    data.py:41 de"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// The recorder still watches the program, but its disk is full.
TEST_F(TopText, SaysThatTheRecordingHasStopped) {
  LiveFrame now = frame();
  now.being_recorded = true;
  now.window.losses.clear();
  now.window.run.stopped_because = "run.db: the disk is full";
  std::string text;
  for (const std::string& line : top_lines(now, {.width = 100})) text += line + "\n";
  EXPECT_THAT(text, HasSubstr(" · recording has stopped · "));
  EXPECT_THAT(text, HasSubstr("The recording is incomplete: run.db: the disk is full."));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("nothing lost")));
}

TEST_F(TopText, PaintsWithoutMovingAnything) {
  const auto plain = top_lines(frame(), {});
  const auto painted = top_lines(frame(), {.color = true});
  ASSERT_EQ(plain.size(), painted.size());
  EXPECT_THAT(painted.front(), HasSubstr("\033["));
  EXPECT_THAT(painted.front(), HasSubstr(plain.front()));
}

}  // namespace
}  // namespace stepscope::testing

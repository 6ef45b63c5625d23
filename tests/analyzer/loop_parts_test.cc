#include "analyzer/steps/loop_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

Phase phase(PhaseKind kind, std::int64_t start, std::int64_t end) {
  Phase phase;
  phase.kind = kind;
  phase.start = session_time(start);
  phase.dur = Duration(end - start);
  return phase;
}

TimeRange range(std::int64_t start, std::int64_t end) {
  return {session_time(start), session_time(end)};
}

// "input 0-10", with a star where it is marked; without those that are empty.
std::vector<std::string> parts_of(const std::vector<Phase>& phases, TimeRange range) {
  constexpr const char* kNames[] = {"input", "forward", "backward", "optimizer", "other"};
  std::vector<std::string> parts;
  for (const LoopStretch& stretch : loop_stretches(phases, range)) {
    if (stretch.range.start == stretch.range.end) continue;
    parts.push_back(std::string(kNames[static_cast<std::size_t>(stretch.part)]) +
                    (stretch.marked ? "* " : " ") + std::to_string(to_ns(stretch.range.start)) +
                    "-" + std::to_string(to_ns(stretch.range.end)));
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST(LoopParts, BetweenABatchAndItsUpdateIsTheForwardPass) {
  const std::vector<Phase> phases = {
      phase(PhaseKind::kInput, 0, 10), phase(PhaseKind::kZeroGrad, 12, 13),
      phase(PhaseKind::kBackward, 20, 30), phase(PhaseKind::kOptimizer, 32, 36),
      phase(PhaseKind::kInput, 40, 50)};
  EXPECT_EQ(
      parts_of(phases, range(0, 60)),
      (Parts{"input* 0-10", "forward 10-12", "optimizer* 12-13", "forward 13-20", "backward* 20-30",
             "other 30-32", "optimizer* 32-36", "other 36-40", "input* 40-50", "forward 50-60"}));
}

TEST(LoopParts, UpdatesDivideABackwardPass) {
  const std::vector<Phase> phases = {
      phase(PhaseKind::kInput, 0, 10),      phase(PhaseKind::kBackward, 20, 40),
      phase(PhaseKind::kOptimizer, 22, 25), phase(PhaseKind::kOptimizer, 30, 32),
      phase(PhaseKind::kZeroGrad, 32, 33),  phase(PhaseKind::kInput, 50, 60)};
  EXPECT_EQ(parts_of(phases, range(0, 60)),
            (Parts{"input* 0-10", "forward 10-20", "backward* 20-22", "optimizer* 22-25",
                   "backward* 25-30", "optimizer* 30-32", "optimizer* 32-33", "backward* 33-40",
                   "other 40-50", "input* 50-60"}));
}

TEST(LoopParts, AfterTheLastBatchThereIsNoForwardPass) {
  const std::vector<Phase> phases = {phase(PhaseKind::kInput, 0, 10),
                                     phase(PhaseKind::kInputEnd, 20, 25)};
  EXPECT_EQ(parts_of(phases, range(0, 40)),
            (Parts{"input* 0-10", "forward 10-20", "input* 20-25", "other 25-40"}));
}

TEST(LoopParts, WhatIsNotMarkedIsOther) {
  EXPECT_EQ(parts_of({}, range(5, 9)), Parts{"other 5-9"});
  EXPECT_EQ(parts_of({phase(PhaseKind::kScope, 5, 9)}, range(5, 9)), Parts{"other 5-9"})
      << "a scope of the program's says nothing";
}

TEST(LoopParts, PhasesAreCutToTheRange) {
  const std::vector<Phase> phases = {phase(PhaseKind::kInput, 0, 10),
                                     phase(PhaseKind::kBackward, 20, 30),
                                     phase(PhaseKind::kInput, 40, 50)};
  EXPECT_EQ(parts_of(phases, range(15, 25)), (Parts{"other 15-20", "backward* 20-25"}));
  EXPECT_EQ(parts_of(phases, range(0, 40)),
            (Parts{"input* 0-10", "forward 10-20", "backward* 20-30", "other 30-40"}));
}

TEST(LoopParts, WhatRunsInAClosureIsNoOptimizerStep) {
  const std::vector<Phase> phases = {
      phase(PhaseKind::kInput, 0, 10), phase(PhaseKind::kOptimizer, 10, 50),
      phase(PhaseKind::kForward, 12, 40), phase(PhaseKind::kBackward, 20, 40)};
  const Parts parts = parts_of(phases, range(0, 60));
  EXPECT_NE(std::ranges::find(parts, "backward* 20-40"), parts.end());
  EXPECT_NE(std::ranges::find(parts, "forward 12-20"), parts.end());
  EXPECT_NE(std::ranges::find(parts, "optimizer* 40-50"), parts.end());
}

// Whatever the phases: a damaged store may have any.
TEST(LoopParts, TheyTileTheRange) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<Phase> phases;
    for (unsigned i = random() % 12; i > 0; --i) {
      const auto start = static_cast<std::int64_t>(random() % 100);
      phases.push_back(phase(static_cast<PhaseKind>(random() % 9), start,
                             start + static_cast<std::int64_t>(random() % 40)));
    }
    std::ranges::sort(phases, {}, &Phase::start);
    const auto begin = static_cast<std::int64_t>(random() % 60);
    const TimeRange whole = range(begin, begin + static_cast<std::int64_t>(random() % 90));
    SessionTime at = whole.start;
    for (const LoopStretch& stretch : loop_stretches(phases, whole)) {
      EXPECT_EQ(stretch.range.start, at) << seed;
      EXPECT_GE(stretch.range.end, at) << seed;
      at = stretch.range.end;
    }
    EXPECT_EQ(at, whole.end) << seed;
  }
}

}  // namespace
}  // namespace stepscope

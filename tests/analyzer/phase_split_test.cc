// How steps without ops divide, by what steps with ops say, and what recording ops cost.
#include "analyzer/attribute/phase_split.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope {
namespace {

constexpr MarkedPhase kWait{PhaseKind::kInput, false, StringId::kNone};
constexpr MarkedPhase kBefore{PhaseKind::kNone, true, StringId::kNone};
constexpr MarkedPhase kUpdate{PhaseKind::kOptimizer, false, StringId::kNone};
constexpr MarkedPhase kSave{PhaseKind::kNone, false, StringId{7}};

Segment segment(Category category, PhaseKind phase, std::int64_t ns) {
  return {{session_time(0), session_time(ns)}, category, phase, StringId::kNone, StringId::kNone};
}

// A step with ops: 100 ns of input; then 40 of host and 160 of compute, where 20 ns were recording.
// Of its ten ops, four lie in others.
void add_op_step(PhaseSplit& split) {
  split.begin_op_step({{kWait, Duration{100}}, {kBefore, Duration{200}}});
  split.add(kWait, segment(Category::kInput, PhaseKind::kInput, 100));
  split.add(kBefore, segment(Category::kHost, PhaseKind::kForward, 40));
  split.add(kBefore, segment(Category::kCompute, PhaseKind::kForward, 160));
  for (int op = 0; op < 10; ++op) split.add_op(kBefore, op < 4);
}

PhaseSplit finished_split() {
  PhaseSplit split(Duration{1000});
  for (int i = 0; i < 5; ++i) add_op_step(split);
  for (int i = 0; i < 9; ++i)
    split.add_plain_step({{kWait, Duration{100}}, {kBefore, Duration{180}}});
  split.finish();
  return split;
}

TEST(PhaseSplit, MeasuresWhatRecordingOpsCost) {
  const PhaseSplit split = finished_split();
  EXPECT_EQ(split.cost().op_steps, 5);
  EXPECT_EQ(split.cost().plain_steps, 9);
  EXPECT_DOUBLE_EQ(split.cost().per_step_ns, 20);
  EXPECT_DOUBLE_EQ(split.cost().plain_step_ns, 280);
  EXPECT_DOUBLE_EQ(split.cost().share(), 20.0 / 280);
}

// 20 ns, of which six outermost ops made 12 of the host's time, four nested ones 8 of compute.
TEST(PhaseSplit, TakesTheCostFromWhereItFalls) {
  const PhaseSplit split = finished_split();
  EXPECT_DOUBLE_EQ(split.net_share(Category::kHost, PhaseKind::kForward), 28.0 / 40);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kCompute, PhaseKind::kForward), 152.0 / 160);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kInput, PhaseKind::kInput), 1);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kSync, PhaseKind::kNone), 1) << "there is none";
}

// "other 100-140, forward* 140-180": a star where it is an estimate.
std::string text_of(const std::vector<LoopStretch>& stretches) {
  constexpr const char* kNames[] = {"input", "forward", "backward", "optimizer", "other"};
  std::string text;
  for (const LoopStretch& stretch : stretches) {
    text += (text.empty() ? "" : ", ") + std::string(kNames[static_cast<int>(stretch.part)]) +
            (stretch.estimated ? "* " : " ") + std::to_string(to_ns(stretch.range.start)) + "-" +
            std::to_string(to_ns(stretch.range.end));
  }
  return text;
}

Span span(PhaseKind phase, std::int64_t start, std::int64_t end) {
  return {
      {session_time(start), session_time(end)}, phase, phase == PhaseKind::kNone, StringId::kNone};
}

// Three quarters of the time before a backward pass go by before the first op.
TEST(PhaseSplit, SaysWhereTheForwardPassBegins) {
  PhaseSplit split(Duration{1000});
  split.begin_op_step({{kWait, Duration{100}}, {kBefore, Duration{200}}});
  split.add(kWait, segment(Category::kInput, PhaseKind::kInput, 100));
  split.add(kBefore, segment(Category::kHost, PhaseKind::kNone, 150));
  split.add(kBefore, segment(Category::kCompute, PhaseKind::kForward, 30));
  split.add(kBefore, segment(Category::kHost, PhaseKind::kForward, 20));
  split.finish();
  const std::vector<Span> twice = {
      span(PhaseKind::kInput, 0, 100),      span(PhaseKind::kNone, 100, 300),
      span(PhaseKind::kBackward, 300, 400), span(PhaseKind::kInput, 400, 410),
      span(PhaseKind::kNone, 410, 510),     span(PhaseKind::kBackward, 510, 600)};
  EXPECT_EQ(text_of(split.stretches(twice)),
            "input 0-100, other* 100-250, forward* 250-300, backward 300-400, input 400-410, "
            "other* 410-485, forward* 485-510, backward 510-600");
  const std::vector<Span> cleared = {
      span(PhaseKind::kInput, 0, 100), span(PhaseKind::kNone, 100, 250),
      span(PhaseKind::kOptimizer, 250, 260), span(PhaseKind::kNone, 260, 310),
      span(PhaseKind::kBackward, 310, 400)};
  EXPECT_EQ(text_of(split.stretches(cleared)),
            "input 0-100, other* 100-250, optimizer 250-260, forward* 260-310, backward 310-400")
      << "zero_grad lies in the middle";
}

// The hooks of modules run between the ops: their time is none of the program's own code.
TEST(PhaseSplit, CallsOfModulesMakeTheTimeBetweenOpsLonger) {
  PhaseSplit split(Duration{10});
  for (int i = 0; i < 5; ++i) {
    split.begin_op_step({{kBefore, Duration{500}}});
    split.add(kBefore, segment(Category::kHost, PhaseKind::kForward, 300));
    split.add(kBefore, segment(Category::kCompute, PhaseKind::kForward, 200));
    for (int op = 0; op < 4; ++op) split.add_op(kBefore, op < 2);
    for (int call = 0; call < 2; ++call) split.add_module_call(kBefore);
  }
  for (int i = 0; i < 5; ++i) split.add_plain_step({{kBefore, Duration{300}}});
  split.finish();
  // Four ops and two calls, each as dear as eight ops: 200 ns, which is no more than 10 each.
  EXPECT_DOUBLE_EQ(split.cost().per_step_ns, 200);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kCompute, PhaseKind::kForward), 180.0 / 200);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kHost, PhaseKind::kForward), 120.0 / 300);
}

// A wait that is inferred lies in the same marked phase as the forward pass, and has no ops.
TEST(PhaseSplit, TakesNothingFromAWaitWithoutOps) {
  PhaseSplit split(Duration{1000});
  for (int i = 0; i < 5; ++i) {
    split.begin_op_step({{kBefore, Duration{1000}}});
    split.add(kBefore, segment(Category::kInput, PhaseKind::kInput, 800));
    split.add(kBefore, segment(Category::kHost, PhaseKind::kForward, 50));
    split.add(kBefore, segment(Category::kCompute, PhaseKind::kForward, 150));
    for (int op = 0; op < 10; ++op) split.add_op(kBefore, false);
  }
  split.add_plain_step({{kBefore, Duration{900}}});
  split.finish();
  EXPECT_DOUBLE_EQ(split.net_share(Category::kInput, PhaseKind::kInput), 1);
  const StepAccount account = split.account({{kBefore, Duration{900}}});
  EXPECT_EQ(account.of(Category::kInput), Duration{800});
}

TEST(PhaseSplit, AStepWithoutOpsDividesAsThoseWithDo) {
  const PhaseSplit split = finished_split();
  const StepAccount account = split.account({{kWait, Duration{50}}, {kBefore, Duration{360}}});
  EXPECT_EQ(account.of(Category::kInput), Duration{50});
  EXPECT_EQ(account.of(Category::kHost), Duration{56});
  EXPECT_EQ(account.of(Category::kCompute), Duration{304});
}

TEST(PhaseSplit, ThePartsSumToTheNanosecond) {
  const PhaseSplit split = finished_split();
  for (std::int64_t ns = 1; ns < 500; ++ns) {
    const StepAccount account = split.account({{kWait, Duration{ns}}, {kBefore, Duration{ns + 3}}});
    ASSERT_EQ(account.total(), Duration{2 * ns + 3});
  }
}

TEST(PhaseSplit, WhatStepsWithOpsNeverHadCountsByItsPhase) {
  const PhaseSplit split = finished_split();
  const StepAccount account = split.account({{kUpdate, Duration{30}}, {kSave, Duration{20}}});
  EXPECT_EQ(account.of(Category::kCompute), Duration{30});
  ASSERT_EQ(account.slices().size(), 2u);
  EXPECT_EQ(account.slices()[1].category, Category::kOther);
  EXPECT_EQ(account.slices()[1].label, StringId{7});
}

TEST(PhaseSplit, AStallInOneKindOfStepIsNoCost) {
  PhaseSplit split(Duration{1000});
  for (int i = 0; i < 5; ++i) add_op_step(split);
  split.begin_op_step({{kWait, Duration{100}}, {kBefore, Duration{900'000}}});
  for (int i = 0; i < 9; ++i)
    split.add_plain_step({{kWait, Duration{100}}, {kBefore, Duration{180}}});
  split.finish();
  EXPECT_DOUBLE_EQ(split.cost().per_step_ns, 20);
}

TEST(PhaseSplit, NoOpCostsMoreThanTheSmallestOp) {
  PhaseSplit split(Duration{1});
  for (int i = 0; i < 5; ++i) add_op_step(split);
  split.add_plain_step({{kWait, Duration{100}}, {kBefore, Duration{180}}});
  split.finish();
  EXPECT_DOUBLE_EQ(split.cost().per_step_ns, 10) << "ten ops a step";
  EXPECT_DOUBLE_EQ(split.net_share(Category::kCompute, PhaseKind::kForward), 156.0 / 160);
}

// A scope with a new name in each step: beyond some thousand, they are one.
TEST(PhaseSplit, ScopesBeyondTheLimitDivideAsOne) {
  PhaseSplit split(Duration{1000});
  MarkedPhase scope = kBefore;
  for (std::uint32_t name = 1; name <= 6000; ++name) {
    scope.label = StringId{name};
    split.begin_op_step({{scope, Duration{200}}});
    split.add(scope, segment(Category::kHost, PhaseKind::kForward, 40));
    split.add(scope, segment(Category::kCompute, PhaseKind::kForward, 160));
  }
  split.add_plain_step({{scope, Duration{200}}});
  split.finish();
  const StepAccount account = split.account({{scope, Duration{200}}});
  EXPECT_EQ(account.of(Category::kHost), Duration{40});
  EXPECT_EQ(account.of(Category::kCompute), Duration{160});
}

TEST(PhaseSplit, WithoutPlainStepsNothingIsTaken) {
  PhaseSplit split(Duration{1000});
  add_op_step(split);
  split.finish();
  EXPECT_DOUBLE_EQ(split.cost().per_step_ns, 0);
  EXPECT_DOUBLE_EQ(split.net_share(Category::kHost, PhaseKind::kNone), 1);
}

}  // namespace
}  // namespace stepscope

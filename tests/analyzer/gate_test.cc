// Limits for scripts: how they are written, and that they fail when B is surely beyond them, and
// only then.
#include "analyzer/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "present/comparison_words.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

// An estimate of so many independent steps.
Estimate known(double value, double error, double steps = 100) {
  return {value, error, steps, steps};
}

PartDifference part(const std::string& name, double a_ms, double b_ms, double a_share,
                    double b_share) {
  return {name, difference_of(known(a_ms * 1e6, 1e4), known(b_ms * 1e6, 1e4)),
          difference_of(known(a_share, 0.002), known(b_share, 0.002))};
}

// A: 4 ms, 25 % of it input. B: 5 ms, 40 % input. Errors of 10 µs (0.25 %) and 0.2 points.
LoopComparison loop_comparison() {
  LoopComparison loop;
  loop.mean = difference_of(known(4e6, 1e4), known(5e6, 1e4));
  loop.median = difference_of(known(4e6, 1e4), known(4e6, 1e4));
  loop.categories = {part("input", 1, 2, 0.25, 0.4), part("compute", 3, 3, 0.75, 0.6)};
  loop.phases = {part("input", 1, 2, 0.25, 0.4), part("forward", 3, 3, 0.75, 0.6),
                 part("backward", 0, 0, 0, 0), part("optimizer", 0, 0, 0, 0),
                 part("other", 0, 0, 0, 0)};
  loop.a_has_ops = loop.b_has_ops = true;
  return loop;
}

GateOutcome outcome_of(const std::string& text,
                       std::vector<LoopComparison> loops = {loop_comparison()}) {
  const auto gate = parse_gate(text);
  EXPECT_TRUE(gate.ok()) << gate.status().message();
  if (!gate.ok()) return {};
  Comparison comparison;
  comparison.loops = std::move(loops);
  return check_gates({*gate}, comparison).at(0);
}

TEST(Gate, IsReadAsItIsWritten) {
  const auto gate = parse_gate(" step_time > +5 % ");
  ASSERT_TRUE(gate.ok());
  EXPECT_EQ(gate->metric, "step_time");
  EXPECT_EQ(gate->kind, LimitKind::kRelative);
  EXPECT_DOUBLE_EQ(gate->limit, 0.05);
  EXPECT_EQ(parse_gate("input>10%")->kind, LimitKind::kShare);
  EXPECT_FALSE(parse_gate("input>10%")->of_phase);
  EXPECT_TRUE(parse_gate("phase.input>10%")->of_phase);
  EXPECT_TRUE(parse_gate("backward>10%")->of_phase);
  EXPECT_FALSE(parse_gate("other>10%")->of_phase);
  EXPECT_EQ(parse_gate("input>+2.5pp")->kind, LimitKind::kMorePoints);
  EXPECT_DOUBLE_EQ(parse_gate("input>+2.5pp")->limit, 0.025);
  EXPECT_EQ(parse_gate("p50>5ms")->kind, LimitKind::kTime);
  EXPECT_DOUBLE_EQ(parse_gate("p50>5ms")->limit, 5e6);
  EXPECT_EQ(parse_gate("p50>+250us")->kind, LimitKind::kMoreTime);
  EXPECT_DOUBLE_EQ(parse_gate("p50>+250us")->limit, 250e3);
  EXPECT_DOUBLE_EQ(parse_gate("p50>+250µs")->limit, 250e3);
  EXPECT_DOUBLE_EQ(parse_gate("p50>1s")->limit, 1e9);
  EXPECT_DOUBLE_EQ(parse_gate("step_time>-10%")->limit, -0.1);
}

TEST(Gate, WhatIsNoneIsRefusedInOneLine) {
  for (const char* text :
       {"",
        ">",
        "step_time",
        "step_time>",
        "step_time>5",
        "step_time>5%",
        "step_time>+2pp",
        "p50>10%",
        "step_time<+5%",
        "step_time>=5ms",
        "step_time>+-5%",
        "step_time>--5%",
        "step_time>+nan%",
        "step_time>inf%",
        "step_time>+1e3%",
        "step_time>+0x10%",
        "step_time>+5%%",
        "step_time>+5%ms",
        "speed>+5%",
        "phase.compute>5%",
        "phase.>5%",
        "input>2pp",
        "input>+5 furlongs",
        "\n>5%",
        "step_time>+"
        "99999999999999999999999999999999999999999999999999999999999999999999999999999999"
        "999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
        "999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
        "9999999999999999999999999999999999999999999999999999999999999%"}) {
    const auto gate = parse_gate(text);
    ASSERT_FALSE(gate.ok()) << text;
    EXPECT_EQ(gate.status().kind(), ErrorKind::kUsage);
    EXPECT_EQ(gate.status().message().find('\n'), std::string::npos) << text;
    EXPECT_THAT(gate.status().message(), HasSubstr("gate \"")) << text;
  }
  EXPECT_THAT(parse_gate("speed>+5%").status().message(),
              HasSubstr("step_time, p50, compute, input"));
  EXPECT_THAT(parse_gate("step_time>5%").status().message(), HasSubstr("+5%"));
}

TEST(Gate, FailsOnlyWithTheWholeInterval) {
  EXPECT_EQ(outcome_of("step_time>+20%").state, GateState::kFailed) << "25 % more";
  EXPECT_EQ(outcome_of("step_time>+30%").state, GateState::kPassed);
  const GateOutcome close = outcome_of("step_time>+24.7%");
  EXPECT_EQ(close.state, GateState::kPassed) << "25 % ± 0.8";
  EXPECT_TRUE(close.only_noise());
  EXPECT_NEAR(close.value, 0.25, 1e-9);
  EXPECT_FALSE(outcome_of("step_time>+30%").only_noise());
  EXPECT_EQ(outcome_of("p50>+0%").state, GateState::kPassed);
}

TEST(Gate, EachKindOfLimitLooksAtItsFigure) {
  EXPECT_EQ(outcome_of("input>35%").state, GateState::kFailed);
  EXPECT_EQ(outcome_of("input>45%").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("input>+10pp").state, GateState::kFailed) << "15 points more";
  EXPECT_EQ(outcome_of("input>+20pp").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("input>+90%").state, GateState::kFailed) << "twice the time";
  EXPECT_EQ(outcome_of("input>+110%").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("input>1.5ms").state, GateState::kFailed);
  EXPECT_EQ(outcome_of("input>+0.5ms").state, GateState::kFailed);
  EXPECT_EQ(outcome_of("input>+1.5ms").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("phase.forward>50%").state, GateState::kFailed);
  EXPECT_EQ(outcome_of("forward>70%").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("step_time>4.9ms").state, GateState::kFailed);
  EXPECT_EQ(outcome_of("step_time>4.99ms").state, GateState::kPassed);
  EXPECT_EQ(outcome_of("p50>-5%").state, GateState::kFailed) << "it had to become 5 % faster";
  EXPECT_EQ(outcome_of("copy>1%").state, GateState::kPassed) << "neither run copies";
}

TEST(Gate, ATimeThatAHadNothingOfCanStillGrow) {
  LoopComparison loop = loop_comparison();
  loop.categories.push_back(part("host", 0, 1, 0, 0.2));
  loop.categories.back().ns = difference_of(known(0, 0), known(1e6, 1e4));
  const GateOutcome outcome = outcome_of("host>+5%", {loop});
  EXPECT_EQ(outcome.state, GateState::kFailed);
  EXPECT_FALSE(outcome.bounded);
  EXPECT_EQ(outcome_text(outcome), "A is indistinguishable from 0");
}

TEST(Gate, AgreesWithTheRelativeIntervalThatIsShown) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(1e6, 2e6), error(0, 2e5), limit(-50, 100);
  for (int i = 0; i < 500; ++i) {
    LoopComparison loop = loop_comparison();
    loop.mean = difference_of(known(value(random), error(random), 40),
                              known(value(random), error(random), 70));
    const double percent = std::round(limit(random));
    const std::string text = "step_time>" + std::string(percent < 0 ? "-" : "+") +
                             std::to_string(std::abs(percent)) + "%";
    const GateOutcome outcome = outcome_of(text, {loop});
    ASSERT_TRUE(outcome.bounded);
    EXPECT_EQ(outcome.state == GateState::kFailed, outcome.interval.low > percent / 100) << text;
  }
}

// B is as A, so the limit of no increase at all is the hardest that noise can meet.
TEST(Gate, NoiseFailsItAsSeldomAsItSays) {
  constexpr int kPairs = 800;
  std::mt19937 random(4);
  std::normal_distribution<double> normal(5e6, 2e5);
  int failed = 0;
  for (int i = 0; i < kPairs; ++i) {
    std::vector<double> a, b;
    for (int step = 0; step < 60; ++step) a.push_back(normal(random));
    for (int step = 0; step < 90; ++step) b.push_back(normal(random));
    LoopComparison loop = loop_comparison();
    loop.mean = difference_of(estimate_mean(a), estimate_mean(b));
    failed += outcome_of("step_time>+0%", {loop}).state == GateState::kFailed ? 1 : 0;
  }
  EXPECT_LE(failed, 0.045 * kPairs) << "2.5 %: the upper half of what lies outside the interval";
}

TEST(Gate, WhatCannotBeToldIsNeitherPassedNorFailed) {
  LoopComparison loop = loop_comparison();
  loop.mean = difference_of(known(4e6, 0, 1), known(5e6, 1e4));
  EXPECT_EQ(outcome_of("step_time>+5%", {loop}).state, GateState::kUndecided);
  EXPECT_EQ(outcome_of("step_time>4ms", {loop}).state, GateState::kFailed) << "B alone can be told";
  loop = loop_comparison();
  loop.a_has_ops = false;
  EXPECT_EQ(outcome_of("compute>+5%", {loop}).state, GateState::kUndecided);
  EXPECT_EQ(outcome_of("compute>50%", {loop}).state, GateState::kFailed) << "B has ops";
  EXPECT_EQ(outcome_of("input>+5%", {loop}).state, GateState::kFailed) << "phases tell input";
  EXPECT_EQ(outcome_of("step_time>+5%", {loop}).state, GateState::kFailed);
  loop.b_has_ops = false;
  EXPECT_EQ(outcome_of("compute>50%", {loop}).state, GateState::kUndecided);
  EXPECT_THAT(doubt_text(outcome_of("compute>50%", {loop})), HasSubstr("without recorded ops"));
}

TEST(Gate, HoldsForEveryLoop) {
  LoopComparison good = loop_comparison();
  good.mean = difference_of(known(4e6, 1e4), known(4e6, 1e4));
  const GateOutcome outcome = outcome_of("step_time>+5%", {good, loop_comparison(), good});
  EXPECT_EQ(outcome.state, GateState::kFailed);
  EXPECT_EQ(outcome.loop, 1u);
  EXPECT_EQ(outcome_of("step_time>+5%", {good, good}).state, GateState::kPassed);
}

TEST(Gate, WithManyLoopsEachIsTestedTheHarder) {
  LoopComparison loop = loop_comparison();  // 2.6 standard errors more
  loop.mean = difference_of(known(4e6, 1e4, 1000), known(4.037e6, 1e4, 1000));
  EXPECT_EQ(outcome_of("step_time>+0%", {loop}).state, GateState::kFailed);
  EXPECT_EQ(outcome_of("step_time>+0%", std::vector<LoopComparison>(16, loop)).state,
            GateState::kPassed);
}

TEST(Gate, OutcomesAreToldInTheUnitOfTheLimit) {
  EXPECT_THAT(outcome_text(outcome_of("step_time>+5%")), HasSubstr("+25.0 % (95 % CI +24."));
  EXPECT_THAT(outcome_text(outcome_of("input>10%")), HasSubstr("40.0 % (95 % CI 39.6 … 40.4)"));
  EXPECT_THAT(outcome_text(outcome_of("input>+1pp")), HasSubstr("+15.0 points"));
  EXPECT_THAT(outcome_text(outcome_of("step_time>4ms")), HasSubstr("5.00 ms (95 % CI 4.98 ms … "));
  EXPECT_THAT(outcome_text(outcome_of("step_time>+1us")), HasSubstr("+1.00 ms (95 % CI +"));
}

}  // namespace
}  // namespace stepscope::testing

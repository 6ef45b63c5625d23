// Classification, confidence, warm-up and the interval, on made distributions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/steps/warm_up.h"
#include "analyzer/verdict/bootstrap.h"
#include "analyzer/verdict/classify.h"
#include "analyzer/verdict/confidence.h"
#include "analyzer/words.h"
#include "present/op_words.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

Shares shares(double compute, std::initializer_list<std::pair<Category, double>> others) {
  Shares result{};
  result[static_cast<std::size_t>(Category::kCompute)] = compute;
  for (const auto& [category, share] : others) result[static_cast<std::size_t>(category)] = share;
  return result;
}

std::string verdict_of(const Shares& given) {
  const Bottleneck bottleneck = classify(given);
  return bottleneck.degree.empty() ? bottleneck.kind : bottleneck.degree + " " + bottleneck.kind;
}

TEST(Classify, InputIsNamedFromFivePercentAndHighlyFromTwenty) {
  EXPECT_EQ(verdict_of(shares(0.951, {{Category::kInput, 0.049}})), "compute-bound");
  EXPECT_EQ(verdict_of(shares(0.95, {{Category::kInput, 0.05}})), "moderately input-bound");
  EXPECT_EQ(verdict_of(shares(0.801, {{Category::kInput, 0.199}})), "moderately input-bound");
  EXPECT_EQ(verdict_of(shares(0.8, {{Category::kInput, 0.2}})), "highly input-bound");
}

TEST(Classify, OtherStallsAreNamedFromTwentyPercent) {
  EXPECT_EQ(verdict_of(shares(0.81, {{Category::kLaunch, 0.19}})), "compute-bound");
  EXPECT_EQ(verdict_of(shares(0.8, {{Category::kLaunch, 0.2}})), "highly launch-bound");
  EXPECT_EQ(verdict_of(shares(0.7, {{Category::kSync, 0.3}})), "highly sync-bound");
  EXPECT_EQ(verdict_of(shares(0.7, {{Category::kCommunication, 0.3}})),
            "highly communication-bound");
  EXPECT_EQ(verdict_of(shares(0.7, {{Category::kCopy, 0.3}})), "highly transfer-bound");
  EXPECT_EQ(verdict_of(shares(0.7, {{Category::kAllocation, 0.3}})), "highly allocation-bound");
}

TEST(Classify, HostAndLabelledScopesAreOneStall) {
  const Shares both = shares(0.75, {{Category::kHost, 0.12}, {Category::kOther, 0.13}});
  EXPECT_EQ(verdict_of(both), "highly host-bound");
  EXPECT_DOUBLE_EQ(classify(both).share, 0.25);
}

TEST(Classify, InputIsAskedFirst) {
  EXPECT_EQ(verdict_of(shares(0.1, {{Category::kInput, 0.3}, {Category::kLaunch, 0.6}})),
            "highly input-bound");
  EXPECT_EQ(verdict_of(shares(0.6, {{Category::kInput, 0.19}, {Category::kLaunch, 0.21}})),
            "highly launch-bound");
  EXPECT_EQ(verdict_of(shares(0.75, {{Category::kInput, 0.06}, {Category::kLaunch, 0.19}})),
            "moderately input-bound");
}

TEST(Classify, TheLargestOfTheOtherStallsNamesTheVerdict) {
  EXPECT_EQ(verdict_of(shares(0.3, {{Category::kSync, 0.3}, {Category::kLaunch, 0.4}})),
            "highly launch-bound");
}

TEST(Classify, ManySmallStallsAreStillComputeBound) {
  EXPECT_EQ(verdict_of(shares(0.49, {{Category::kInput, 0.04},
                                     {Category::kCopy, 0.09},
                                     {Category::kSync, 0.098},
                                     {Category::kLaunch, 0.095},
                                     {Category::kCommunication, 0.095},
                                     {Category::kHost, 0.095}})),
            "compute-bound");
}

std::string near_of(const Shares& given, double pressure = 0) {
  const auto near = near_threshold(given, pressure);
  return near ? threshold_name(*near) : "";
}

TEST(Classify, SaysWhichShareIsWithinAPointOfAThreshold) {
  EXPECT_EQ(near_of(shares(0.5, {{Category::kInput, 0.5}})), "");
  EXPECT_EQ(near_of(shares(0.87, {{Category::kLaunch, 0.13}})), "");
  EXPECT_EQ(near_of(shares(0.955, {{Category::kInput, 0.045}})), "input");
  EXPECT_EQ(near_of(shares(0.795, {{Category::kInput, 0.205}})), "input");
  EXPECT_EQ(near_of(shares(0.805, {{Category::kLaunch, 0.195}})), "launch");
  EXPECT_EQ(near_of(shares(0.795, {{Category::kHost, 0.1}, {Category::kOther, 0.105}})), "host");
  EXPECT_EQ(near_of(shares(1, {}), 0.195), "memory pressure");
  // Two stalls that could change places.
  EXPECT_EQ(near_of(shares(0.495, {{Category::kSync, 0.25}, {Category::kLaunch, 0.255}})),
            "launch");
}

std::string verdict_under_pressure(double compute, double input, double pressure) {
  const Bottleneck bottleneck = classify(shares(compute, {{Category::kInput, input}}), pressure);
  return bottleneck.degree.empty() ? bottleneck.kind : bottleneck.degree + " " + bottleneck.kind;
}

TEST(Classify, MemoryPressureNamesTheVerdictWhereNoStallIsLarger) {
  EXPECT_EQ(verdict_under_pressure(0.98, 0.02, 0.19), "compute-bound");
  EXPECT_EQ(verdict_under_pressure(0.98, 0.02, 0.20), "highly memory-pressure-bound");
  EXPECT_EQ(verdict_under_pressure(0.7, 0.3, 0.4), "highly memory-pressure-bound");
  EXPECT_EQ(verdict_under_pressure(0.7, 0.3, 0.25), "highly input-bound");
  EXPECT_DOUBLE_EQ(classify(shares(1, {}), 0.4).share, 0.4);
}

// docs/cli.md promises these; no-steps is what a run without a loop gets (report_test.cc).
TEST(Classify, EveryKindOfTheContractIsReached) {
  const auto of = [](Category category) { return classify(shares(0.6, {{category, 0.4}})).kind; };
  EXPECT_EQ(of(Category::kInput), "input-bound");
  EXPECT_EQ(of(Category::kCopy), "transfer-bound");
  EXPECT_EQ(of(Category::kLaunch), "launch-bound");
  EXPECT_EQ(of(Category::kSync), "sync-bound");
  EXPECT_EQ(of(Category::kCommunication), "communication-bound");
  EXPECT_EQ(of(Category::kAllocation), "allocation-bound");
  EXPECT_EQ(of(Category::kHost), "host-bound");
  EXPECT_EQ(of(Category::kOther), "host-bound");
  EXPECT_EQ(classify(shares(1, {})).kind, "compute-bound");
  EXPECT_EQ(classify(shares(1, {}), 0.3).kind, "memory-pressure-bound");
}

TEST(Bootstrap, EqualStepsHaveAPointInterval) {
  const std::vector<double> parts(50, 3.0), wholes(50, 10.0);
  const Interval ci = bootstrap_ratio(parts, wholes);
  EXPECT_DOUBLE_EQ(ci.low, 0.3);
  EXPECT_DOUBLE_EQ(ci.high, 0.3);
}

TEST(Bootstrap, IsDeterministic) {
  std::mt19937 random(1);
  std::vector<double> parts, wholes;
  for (int i = 0; i < 40; ++i) {
    parts.push_back(static_cast<double>(random() % 100));
    wholes.push_back(100 + static_cast<double>(random() % 100));
  }
  const Interval a = bootstrap_ratio(parts, wholes), b = bootstrap_ratio(parts, wholes);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LT(a.low, a.high);
}

// Of 400 recordings with a known true share, about 95 % of the intervals must hold it.
TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> wait(0.0, 0.5), rest(1.0, 0.2);
  const double mean_wait = std::exp(0.125), mean_rest = std::exp(1.02);
  const double truth = mean_wait / (mean_wait + mean_rest);
  int covered = 0;
  for (int run = 0; run < 400; ++run) {
    std::vector<double> parts, wholes;
    for (int i = 0; i < 60; ++i) {
      parts.push_back(wait(random));
      wholes.push_back(parts.back() + rest(random));
    }
    const Interval ci = bootstrap_ratio(parts, wholes);
    covered += ci.low <= truth && truth <= ci.high;
  }
  EXPECT_GT(covered, 400 * 0.90);
  EXPECT_LT(covered, 400 * 0.99);
}

TEST(Bootstrap, ManyStepsAreBlockedAndStillRight) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(3.0, 0.5);
  std::vector<double> parts, wholes;
  for (int i = 0; i < 100'000; ++i) {
    parts.push_back(noise(random));
    wholes.push_back(10.0);
  }
  const Interval ci = bootstrap_ratio(parts, wholes);
  EXPECT_NEAR(ci.low, 0.3, 0.001);
  EXPECT_NEAR(ci.high, 0.3, 0.001);
  EXPECT_LT(ci.low, ci.high);
}

std::vector<Duration> steady(std::size_t count) {
  std::vector<Duration> times;
  for (std::size_t i = 0; i < count; ++i)
    times.emplace_back(10'000'000 + static_cast<std::int64_t>(i % 5) * 10'000);
  return times;
}

TEST(WarmUp, TheFirstStepAlwaysIs) {
  EXPECT_EQ(warm_up_steps({}), 0u);
  EXPECT_EQ(warm_up_steps(steady(1)), 1u);
  EXPECT_EQ(warm_up_steps(steady(2)), 1u);
  EXPECT_EQ(warm_up_steps(steady(100)), 1u);
}

TEST(WarmUp, SlowStepsAtTheStartAre) {
  auto times = steady(100);
  times[0] = times[1] = times[2] = Duration(30'000'000);
  EXPECT_EQ(warm_up_steps(times), 3u);
  times[3] = Duration(11'000'000);  // clearly off, and yet no quarter slower
  EXPECT_EQ(warm_up_steps(times), 3u);
}

// Sentences sorted by length, the longest first.
TEST(WarmUp, StepsThatComputeMoreAreNot) {
  auto times = steady(100);
  std::vector<double> work(100, 1);
  for (std::size_t i = 0; i < 6; ++i) {
    times[i] = Duration(40'000'000);
    work[i] = 4;
  }
  EXPECT_EQ(warm_up_steps(times), 6u);
  EXPECT_EQ(warm_up_steps(times, work), 1u);
  times[1] = Duration(60'000'000);  // half as long again as its work explains
  EXPECT_EQ(warm_up_steps(times, work), 2u);
  work.assign(100, 0.1);  // less work than usual is no reason for anything
  EXPECT_EQ(warm_up_steps(steady(100), work), 1u);
}

TEST(WarmUp, AStallLaterOnIsNot) {
  auto times = steady(100);
  times[2] = Duration(90'000'000);  // step 2 was as the others
  EXPECT_EQ(warm_up_steps(times), 1u);
}

TEST(WarmUp, NeverMoreThanATenth) {
  std::vector<Duration> times(100, Duration(50'000'000));
  std::fill(times.begin() + 40, times.end(), Duration(10'000'000));
  EXPECT_EQ(warm_up_steps(times), 10u);
}

TEST(WarmUp, NoiseIsNot) {
  std::mt19937 random(2);
  std::lognormal_distribution<double> noise(0, 0.4);
  std::size_t extra = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<Duration> times;
    for (int i = 0; i < 100; ++i)
      times.emplace_back(static_cast<std::int64_t>(1e7 * noise(random)));
    extra += warm_up_steps(times) - 1;
  }
  EXPECT_LE(extra, 2u);
}

ConfidenceInput certain() {
  ConfidenceInput input;
  input.steps = 100;
  input.ci = {0.60, 0.62};
  input.bottleneck = classify(shares(0.39, {{Category::kInput, 0.61}}));
  input.ops = 100'000;
  return input;
}

TEST(Confidence, IsHighWithManyLikeSteps) {
  EXPECT_EQ(confidence_of(certain()).level, "high");
  EXPECT_TRUE(confidence_of(certain()).reasons.empty());
}

TEST(Confidence, EachDoubtLowersIt) {
  const auto level = [](auto change) {
    ConfidenceInput input = certain();
    change(input);
    const Confidence confidence = confidence_of(input);
    EXPECT_EQ(confidence.reasons.size(), 1u);
    return confidence.level;
  };
  EXPECT_EQ(level([](auto& i) { i.steps = 19; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.steps = 4; }), "low");
  EXPECT_EQ(level([](auto& i) { i.ci = {0.55, 0.66}; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.ci = {0.45, 0.70}; }), "low");
  EXPECT_EQ(level([](auto& i) { i.ci = {0.19, 0.22}; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.near_threshold = true; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.lost = 1; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.lost = 2000; }), "low");
  EXPECT_EQ(level([](auto& i) { i.ops_recorded = false; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.warm_up_only = true; }), "low");
  EXPECT_EQ(level([](auto& i) { i.device_unknown = true; }), "low");
  EXPECT_EQ(level([](auto& i) { i.input_inferred = true; }), "medium");
  EXPECT_EQ(level([](auto& i) { i.input_inferred = i.input_unsure = true; }), "low");
}

TEST(Words, OpsAreCalledWhatTheyAre) {
  EXPECT_EQ(with_meaning("aten::bernoulli_"), "aten::bernoulli_ (dropout)");
  EXPECT_EQ(with_meaning("aten::native_batch_norm_backward"),
            "aten::native_batch_norm_backward (batch normalization)");
  EXPECT_EQ(with_meaning("aten::_fused_adamw_"), "aten::_fused_adamw_ (optimizer)");
  EXPECT_EQ(with_meaning("aten::relu"), "aten::relu");
  EXPECT_EQ(with_meaning("mine::step"), "mine::step");
}

TEST(Words, FiguresReadWell) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(999.9), "1.00 µs");
  EXPECT_EQ(time_text(4'820'000), "4.82 ms");
  EXPECT_EQ(time_text(12'345'678'900), "12.3 s");
  EXPECT_EQ(time_text_like(710'000, 1'620'000), "0.71");
  EXPECT_EQ(time_range_text(710'000, 1'620'000), "0.71–1.62 ms");
  EXPECT_EQ(percent_text(0.6312), "63.1 %");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
  EXPECT_EQ(mean_text(6000), "6,000");
  EXPECT_EQ(mean_text(15.75), "15.8");
  EXPECT_EQ(ordinal(11), "11th");
  EXPECT_EQ(ordinal(22), "22nd");
  EXPECT_EQ(in_quotes("a\nb"), "\"a?b\"");
}

}  // namespace
}  // namespace stepscope

// Comparisons of runs whose truth is known: like with like stays noise at the nominal rate, known
// shifts are found with the truth in the interval, and what cannot be told is not told.
#include "analyzer/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <set>

#include "analyzer/compare/explain.h"
#include "analyzer/compare/match_loops.h"
#include "analyzer/compare/student_t.h"
#include "analyzer/verdict/summary.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Pair = std::pair<std::size_t, std::size_t>;

// Mean 1, standard deviation `spread`, and neighbours that are correlated by `phi`.
std::vector<double> correlated(std::mt19937& random, std::size_t count, double phi,
                               double spread = 0.05) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(1 + spread * state);
    state = phi * state + std::sqrt(1 - phi * phi) * normal(random);
  }
  return values;
}

TEST(StudentT, HasTheValuesOfTheTables) {
  EXPECT_NEAR(student_quantile(0.95, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 5), 2.5706, 1e-4);
  EXPECT_NEAR(student_quantile(0.99, 10), 3.1693, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 30), 2.0423, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 1e7), 1.95996, 1e-4);
  EXPECT_NEAR(student_quantile(0.9999, 1e7), 3.8906, 1e-4);
  EXPECT_NEAR(student_p(2.2281, 10), 0.05, 1e-5);
  EXPECT_NEAR(student_p(-2.2281, 10), 0.05, 1e-5);
  EXPECT_NEAR(student_p(0, 3), 1, 1e-12);
  EXPECT_NEAR(fisher_p(4.1028, 2, 10), 0.05, 1e-5);
  EXPECT_NEAR(fisher_p(3.7083, 3, 10), 0.05, 1e-5);
  EXPECT_NEAR(fisher_p(2.5 * 2.5, 1, 7), student_p(2.5, 7), 1e-12);
  EXPECT_NEAR(fisher_p(0, 2, 3), 1, 1e-12);
  EXPECT_NEAR(student_p(1e200, 3), 0, 1e-12);
}

TEST(StudentT, QuantileAndPAreInverse) {
  for (const double df : {1.0, 1.5, 2.0, 7.3, 60.0, 900.0}) {
    for (const double level : {0.5, 0.9, 0.95, 0.999, 0.999999}) {
      EXPECT_NEAR(student_p(student_quantile(level, df), df), 1 - level, 1e-8)
          << df << " " << level;
    }
  }
}

// The closed form is what resampling comes to.
TEST(Estimate, TheErrorIsThatOfResamplesThatAreReallyDrawn) {
  constexpr int kDraws = 20'000;
  std::mt19937 random(5);
  for (const double stretch : {1.0, 4.0, 15.0}) {
    const std::vector<double> values = correlated(random, 60, 0.7);
    std::uniform_int_distribution<std::size_t> anywhere(0, values.size() - 1);
    std::bernoulli_distribution ends(1 / stretch);
    double sum = 0, squares = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      double mean = 0;
      std::size_t at = anywhere(random);
      for (std::size_t i = 0; i < values.size(); ++i) {
        mean += values[at] / static_cast<double>(values.size());
        at = ends(random) ? anywhere(random) : (at + 1) % values.size();
      }
      sum += mean;
      squares += mean * mean;
    }
    const double mean = sum / kDraws;
    const double drawn = squares / kDraws - mean * mean;
    EXPECT_NEAR(bootstrap_variance(values, stretch) / drawn, 1, 0.05) << stretch;
  }
}

TEST(Estimate, StretchesGrowWithTheCorrelation) {
  std::mt19937 random(6);
  double last = 0;
  for (const double phi : {0.0, 0.5, 0.9}) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) sum += stretch_length(correlated(random, 300, phi));
    EXPECT_GT(sum, 1.5 * last) << phi;
    last = sum;
  }
}

TEST(Estimate, OddSeriesHaveAStretchToo) {
  std::vector<double> alternating, constant(50, 3.0), rising;
  for (int i = 0; i < 50; ++i) {
    alternating.push_back(i % 2);
    rising.push_back(i);
  }
  for (const auto& values : {alternating, constant, rising, std::vector<double>{1, 2, 3}}) {
    const double stretch = stretch_length(values);
    EXPECT_GE(stretch, 1);
    EXPECT_LE(stretch, static_cast<double>(values.size()) / 3);
  }
  EXPECT_EQ(estimate_mean(constant).error, 0);
  // They even one another out; nobody shall think that half a percent can be told for it.
  EXPECT_GE(estimate_mean(alternating).error, 0.5 / std::sqrt(50));
}

TEST(Estimate, NothingAndOneStepHaveNoError) {
  EXPECT_FALSE(estimate_mean({}).has_error());
  EXPECT_FALSE(estimate_mean(std::vector<double>{4}).has_error());
  EXPECT_FALSE(estimate_median(std::vector<double>{4}).has_error());
  EXPECT_TRUE(estimate_mean(std::vector<double>{4, 5}).has_error());
  EXPECT_EQ(estimate_mean(std::vector<double>{4}).value, 4);
}

TEST(Estimate, ManyStepsAreAddedUpAndTheFigureStaysTheSame) {
  std::mt19937 random(7);
  const std::vector<double> values = correlated(random, 50'001, 0);
  const Estimate estimate = estimate_mean(values);
  double sum = 0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(estimate.value, sum / 50'001, 1e-12);
  EXPECT_NEAR(estimate.error, 0.05 / std::sqrt(50'001), 0.05 / std::sqrt(50'001) * 0.25);
  EXPECT_LE(estimate.pieces, static_cast<double>(kMostPieces));
}

// How often two series of the same kind are told apart.
template <typename Estimator>
double false_alarms(Estimator estimate, double phi, std::size_t count_a, std::size_t count_b) {
  constexpr int kPairs = 600;
  std::mt19937 random(8);
  int alarms = 0;
  for (int i = 0; i < kPairs; ++i) {
    const auto a = correlated(random, count_a, phi), b = correlated(random, count_b, phi);
    alarms += difference_of(estimate(a), estimate(b)).changed ? 1 : 0;
  }
  return static_cast<double>(alarms) / kPairs;
}

// 5 % is nominal. 600 pairs of a true 7 % give more than 9.5 % once in a hundred times.
constexpr double kMostAlarms = 0.095;
constexpr double kLeastAlarms = 0.005;  // below it, the intervals are useless

TEST(Comparison, LikeWithLikeIsNoiseWhateverTheCorrelation) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  std::printf("phi  steps of A, B  alarms: mean  p50\n");  // the table of docs/comparing.md
  for (const double phi : {0.0, 0.3, 0.6, 0.8}) {
    for (const auto& [a, b] : {Pair{60, 60}, Pair{100, 100}, Pair{80, 400}, Pair{500, 500}}) {
      const double mean = false_alarms([](const auto& v) { return estimate_mean(v); }, phi, a, b);
      const double median =
          false_alarms([](const auto& v) { return estimate_median(v); }, phi, a, b);
      std::printf("%.1f  %3zu, %3zu  %.1f %%  %.1f %%\n", phi, a, b, 100 * mean, 100 * median);
      EXPECT_LE(mean, kMostAlarms) << "mean, phi " << phi << ", " << a << " and " << b << " steps";
      EXPECT_GE(mean, kLeastAlarms) << "mean, phi " << phi << ", " << a << " and " << b << " steps";
      EXPECT_LE(median, kMostAlarms) << "p50, phi " << phi << ", " << a << " and " << b << " steps";
    }
  }
}

TEST(Comparison, FewStepsRaiseNoMoreAlarmsWhenTheyAreIndependent) {
  for (const auto& [a, b] : {Pair{2, 2}, Pair{3, 5}, Pair{5, 5}, Pair{4, 200}, Pair{10, 30}}) {
    EXPECT_LE(false_alarms([](const auto& v) { return estimate_mean(v); }, 0, a, b), kMostAlarms)
        << a << " and " << b << " steps";
  }
}

// Why the steps are not resampled one by one.
TEST(Comparison, StepsTakenForIndependentWouldRaiseAlarms) {
  const auto plain = [](const std::vector<double>& values) {
    Estimate estimate = estimate_mean(values);
    estimate.error = std::sqrt(bootstrap_variance(values, 1));
    estimate.pieces = static_cast<double>(values.size());
    return estimate;
  };
  EXPECT_GT(false_alarms(plain, 0.8, 100, 100), 0.4);
}

// Every 25th step on average stalls, to 3.5 times its length.
TEST(Comparison, RareStallsRaiseNoAlarms) {
  constexpr int kPairs = 400;
  std::mt19937 random(9);
  std::bernoulli_distribution stalls(0.04);
  int alarms = 0;
  for (int i = 0; i < kPairs; ++i) {
    std::vector<double> a = correlated(random, 60, 0), b = correlated(random, 300, 0);
    for (auto* run : {&a, &b}) {
      for (double& value : *run) value += stalls(random) ? 2.5 : 0;
    }
    alarms += difference_of(estimate_mean(a), estimate_mean(b)).changed ? 1 : 0;
  }
  EXPECT_LE(alarms, kMostAlarms * kPairs);
}

// 2.4 standard errors, if A were as exact as its own steps say.
TEST(Comparison, AShortQuietRunIsNotTakenAtItsWord) {
  const Estimate quiet{100, 0, 50, 50}, noisy{112, 5, 50, 50};
  const Difference d = difference_of(quiet, noisy);
  EXPECT_FALSE(d.changed);
  EXPECT_TRUE(difference_of({100, 0, 1000, 1000}, {112, 5, 50, 50}).changed) << "a long one may be";
  EXPECT_EQ(d.a.error, 0) << "the figures stay as they are";
}

TEST(Comparison, IntervalsHoldTheTruth) {
  constexpr int kPairs = 500;
  std::mt19937 random(10);
  int held = 0, relative_held = 0;
  for (int i = 0; i < kPairs; ++i) {
    const auto a = correlated(random, 150, 0.4);
    auto b = correlated(random, 90, 0.4);
    for (double& value : b) value *= 0.5;
    const Difference d = difference_of(estimate_mean(a), estimate_mean(b));
    held += d.interval.low <= -0.5 && -0.5 <= d.interval.high ? 1 : 0;
    const auto relative = relative_of(d);
    ASSERT_TRUE(relative);
    relative_held += relative->interval.low <= -0.5 && -0.5 <= relative->interval.high ? 1 : 0;
    EXPECT_TRUE(d.changed);
  }
  EXPECT_GE(held, 0.9 * kPairs);
  EXPECT_GE(relative_held, 0.9 * kPairs);
  EXPECT_LT(held, kPairs) << "an interval that never fails is too wide";
}

TEST(Comparison, TheRelativeIntervalAndTheOtherAgreeAboutNoise) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const auto a = correlated(random, 20, 0, 0.3);
    auto b = correlated(random, 30, 0, 0.3);
    for (double& value : b) value *= 1.15;
    const Difference d = difference_of(estimate_mean(a), estimate_mean(b));
    const auto relative = relative_of(d);
    ASSERT_TRUE(relative);
    EXPECT_EQ(d.changed, relative->interval.low > 0 || relative->interval.high < 0);
  }
}

TEST(Comparison, WhatIsNotToldFromNothingHasNoRelativeDifference) {
  EXPECT_FALSE(relative_of(difference_of({0, 0, 50}, {5, 1, 50})));
  EXPECT_FALSE(relative_of(difference_of({1, 2, 50}, {5, 1, 50})));
  EXPECT_FALSE(relative_of(difference_of({3, 0, 1}, {5, 0, 1})));
  const auto exact = relative_of(difference_of({4, 0, 50}, {5, 0, 50}));
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->value, 0.25);
  EXPECT_NEAR(exact->interval.low, 0.25, 1e-9);
}

// A difference that has this p to all but rounding.
Difference with_p(double p) {
  return difference_of({0, 0, 1e9}, {p < 1 ? student_quantile(1 - p, 1e9) : 0, 1, 1e9});
}

std::vector<bool> changed_of(std::vector<Difference>& family) {
  std::vector<Difference*> pointers;
  for (Difference& d : family) pointers.push_back(&d);
  control_false_discoveries(pointers);
  std::vector<bool> changed;
  for (const Difference& d : family) changed.push_back(d.changed);
  return changed;
}

// The example of Benjamini and Hochberg 1995, section 3.2: of these, four.
TEST(FalseDiscoveries, AreControlledAsInThePaper) {
  std::vector<Difference> family;
  for (const double p : {0.0459, 0.0001, 0.0004, 0.0201, 0.0019, 0.0095, 0.0278, 0.0298, 0.0344,
                         0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0}) {
    family.push_back(with_p(p));
  }
  const auto changed = changed_of(family);
  EXPECT_EQ(std::count(changed.begin(), changed.end(), true), 4);
  for (const std::size_t i : {1u, 2u, 4u, 5u}) EXPECT_TRUE(changed[i]) << i;
  EXPECT_NEAR(family[0].level, 1 - 0.05 * 4 / 15, 1e-12);
}

TEST(FalseDiscoveries, ALargerFamilyFindsLess) {
  const auto found_among = [](std::size_t members) {
    std::vector<Difference> family = {with_p(0.001), with_p(0.02)};
    family.resize(members, with_p(1));
    const auto changed = changed_of(family);
    return std::vector<bool>(changed.begin(), changed.begin() + 2);
  };
  EXPECT_THAT(found_among(2), ElementsAre(true, true));
  EXPECT_THAT(found_among(30), ElementsAre(true, false));
  EXPECT_THAT(found_among(100), ElementsAre(false, false));
}

TEST(FalseDiscoveries, NothingIsLeftOfAnEarlierLevel) {
  std::vector<Difference> large = {with_p(0.02), with_p(1), with_p(1)};
  EXPECT_THAT(changed_of(large), ElementsAre(false, false, false));
  std::vector<Difference> small = {large[0]};
  EXPECT_THAT(changed_of(small), ElementsAre(true));
}

// --- whole comparisons -------------------------------------------------------------------------

constexpr double kMs = 1e6;

// A run of one loop, its steps made of categories and its ops of samples, as analyze() leaves them.
class RunBuilder {
 public:
  RunBuilder() {
    report_.run.torch_version = "2.13.0";
    report_.run.cpu_count = 2;
    report_.run.hosts = {"host"};
    report_.op_count = 1000;
  }

  // A loop of a warm-up step of a second, which must not matter, and of these.
  RunBuilder& loop(std::int64_t rank = -1) {
    report_.loops.emplace_back();
    LoopReport& loop = report_.loops.back();
    loop.rank = rank;
    loop.pid = 42;
    loop.marker = StepMarker::kLoader;
    loop.trains = true;
    loop.ops_recorded = true;
    loop.warm_up = 1;
    add_step({{Category::kCompute, PhaseKind::kForward, 1000 * kMs}}, false);
    return *this;
  }

  struct Part {
    Category category;
    PhaseKind phase;
    double ns;
  };

  RunBuilder& add_step(const std::vector<Part>& parts, bool steady = true) {
    LoopReport& loop = report_.loops.back();
    Step step;
    step.number = static_cast<std::int64_t>(loop.steps.size()) + 1;
    step.steady = steady;
    for (const Part& part : parts) {
      const Duration exposed(std::llround(part.ns));
      step.times.push_back({part.category, part.phase, "", exposed, Duration(0)});
      step.dur += exposed;
    }
    if (steady) loop.analysed.push_back(loop.steps.size());
    loop.steps.push_back(std::move(step));
    if (steady) loop.step_phases.push_back(phase_means(loop.steps, {loop.steps.size() - 1}));
    loop.shares = exposed_shares(loop.steps, loop.analysed);
    return *this;
  }

  // `ms` of compute and `input_ms` of input in each step, times what `noise` says.
  RunBuilder& steps(const std::vector<double>& noise, double ms, double input_ms) {
    for (const double factor : noise) {
      add_step({{Category::kInput, PhaseKind::kInput, input_ms * factor * kMs},
                {Category::kCompute, PhaseKind::kForward, ms * factor * kMs}});
    }
    return *this;
  }

  // The i-th analysed step has calls[i] calls of 1 µs × noise[i] each; all steps are blocks.
  RunBuilder& op(const std::string& name, const std::vector<double>& noise, std::int64_t calls) {
    LoopReport& loop = report_.loops.back();
    loop.op_blocks.assign(noise.size(), 1);
    OpRow row{name, "forward", 0, 0, 0, {}};
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const auto self = std::llround(1e3 * noise[i] * static_cast<double>(calls));
      row.samples.push_back({i, calls, self});
      row.calls += calls;
      row.self_ns += self;
    }
    loop.ops.push_back(std::move(row));
    return *this;
  }

  // The same of a kernel.
  RunBuilder& kernel(const std::string& name, const std::vector<double>& noise,
                     std::int64_t calls) {
    LoopReport& loop = report_.loops.back();
    loop.kernel_blocks.assign(noise.size(), 1);
    KernelRow row;
    row.name = name;
    row.phase = "backward";
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const auto ns = std::llround(1e3 * noise[i] * static_cast<double>(calls));
      row.samples.push_back({i, calls, ns});
    }
    loop.kernels.push_back(std::move(row));
    return *this;
  }

  AnalysisReport& report() { return report_; }

 private:
  AnalysisReport report_;
};

const PartDifference& part(const std::vector<PartDifference>& parts, const std::string& name) {
  for (const PartDifference& p : parts) {
    if (p.name == name) return p;
  }
  ADD_FAILURE() << "no " << name;
  return parts.front();
}

std::set<std::string> ids(const Comparison& comparison) {
  std::set<std::string> result;
  for (const Note& note : comparison.notes) result.insert(note.id);
  return result;
}

TEST(Compare, FindsWhatMovedAndCallsTheRestNoise) {
  std::mt19937 random(12);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 200, 0.3), 2, 3);
  b.loop().steps(correlated(random, 90, 0.3), 2, 1);
  const Comparison comparison = compare(a.report(), b.report());
  ASSERT_EQ(comparison.loops.size(), 1u);
  const LoopComparison& loop = comparison.loops[0];
  EXPECT_EQ(change_of(loop), "faster");
  EXPECT_NEAR(loop.mean.a.value, 5 * kMs, 0.1 * kMs) << "the warm-up step counts for nothing";
  EXPECT_NEAR(loop.mean.delta(), -2 * kMs, 0.1 * kMs);
  EXPECT_TRUE(part(loop.categories, "input").ns.changed);
  EXPECT_FALSE(part(loop.categories, "compute").ns.changed);
  EXPECT_NEAR(part(loop.categories, "input").share.delta(), 1.0 / 3 - 3.0 / 5, 1e-6);
  EXPECT_TRUE(part(loop.categories, "compute").share.changed) << "all of a step is 100 %";
  EXPECT_TRUE(part(loop.phases, "input").ns.changed);
  EXPECT_FALSE(part(loop.phases, "backward").ns.changed) << "there is none";
  EXPECT_EQ(loop.categories.size(), 2u) << "categories that neither has are left out";
  EXPECT_TRUE(comparison.notes.empty());
  EXPECT_THAT(answer_of(loop), StartsWith("B is 1.7 × faster: "));
  ASSERT_FALSE(reasons_of(loop).empty());
  EXPECT_THAT(reasons_of(loop).back(), HasSubstr("waiting for input"));
}

TEST(Compare, TheSameRunTwiceIsNoiseThroughout) {
  std::mt19937 random(13);
  RunBuilder a;
  const auto noise = correlated(random, 50, 0);
  a.loop().steps(noise, 2, 3).op("aten::mm", noise, 3);
  const Comparison comparison = compare(a.report(), a.report());
  const LoopComparison& loop = comparison.loops.at(0);
  EXPECT_EQ(change_of(loop), "noise");
  EXPECT_EQ(loop.mean.p, 1);
  for (const PartDifference& p : loop.categories) EXPECT_FALSE(p.ns.changed || p.share.changed);
  for (const CallDifference& call : loop.calls) EXPECT_FALSE(call.changed());
  EXPECT_TRUE(reasons_of(loop).empty());
  EXPECT_THAT(answer_of(loop), StartsWith("No difference beyond noise: "));
}

// Shares of equal steps differ by rounding only, however many steps there are.
TEST(Compare, RoundingIsNoDifference) {
  for (const std::size_t count : {7u, 30u, 49u, 101u}) {
    RunBuilder a, b;
    a.loop().steps(std::vector<double>(30, 1.0), 2.1, 3.3);
    b.loop().steps(std::vector<double>(count, 1.0), 2.1, 3.3);
    const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
    for (const PartDifference& p : loop.categories) {
      EXPECT_FALSE(p.ns.changed || p.share.changed) << p.name << " of " << count;
    }
  }
}

TEST(Compare, SwappingTheRunsTurnsTheSigns) {
  std::mt19937 random(14);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 2, 3);
  b.loop().steps(correlated(random, 70, 0), 2, 2);
  const auto there = compare(a.report(), b.report()).loops.at(0);
  const auto back = compare(b.report(), a.report()).loops.at(0);
  EXPECT_EQ(there.mean.delta(), -back.mean.delta());
  EXPECT_NEAR(there.mean.interval.low, -back.mean.interval.high, 1e-6);
  EXPECT_EQ(there.mean.p, back.mean.p);
  EXPECT_EQ(change_of(there), "faster");
  EXPECT_EQ(change_of(back), "slower");
}

// 80 ops and 4 figures of parts: one by one, 19 of 20 comparisons would show something.
TEST(Compare, ManyOpsOfLikeRunsRaiseHardlyAnAlarm) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  constexpr int kPairs = 120;
  std::mt19937 random(15);
  int with_ops = 0, with_parts = 0;
  for (int i = 0; i < kPairs; ++i) {
    RunBuilder a, b;
    a.loop().steps(correlated(random, 40, 0.2), 2, 3);
    b.loop().steps(correlated(random, 60, 0.2), 2, 3);
    for (int op = 0; op < 80; ++op) {
      const std::string name = "aten::op" + std::to_string(op);
      a.op(name, correlated(random, 40, 0.2, 0.3), 2);
      b.op(name, correlated(random, 60, 0.2, 0.3), 2);
    }
    const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
    const auto changed = [](const auto& row) { return row.ns.changed; };
    with_ops += std::any_of(loop.calls.begin(), loop.calls.end(), changed) ? 1 : 0;
    with_parts += std::any_of(loop.categories.begin(), loop.categories.end(), changed) ? 1 : 0;
  }
  EXPECT_LE(with_ops, 0.12 * kPairs);
  EXPECT_LE(with_parts, 0.12 * kPairs);
}

TEST(Compare, AnOpThatChangedIsFoundAmongMany) {
  std::mt19937 random(16);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 0.5, 0);
  b.loop().steps(correlated(random, 40, 0), 0.5, 0);
  for (int op = 0; op < 60; ++op) {
    const std::string name = "aten::op" + std::to_string(op);
    a.op(name, correlated(random, 40, 0, 0.3), 2);
    auto noise = correlated(random, 40, 0, 0.3);
    for (double& value : noise) value *= op == 33 ? 2 : 1;
    b.op(name, noise, op == 44 ? 3 : 2);
  }
  a.op("aten::gone", correlated(random, 40, 0), 5);
  b.op("aten::new", correlated(random, 40, 0), 7);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  ASSERT_EQ(loop.calls.size(), 62u);
  std::set<std::string> found;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(loop.calls[i].matters()) << i;
    found.insert(loop.calls[i].name);
  }
  EXPECT_EQ(found, (std::set<std::string>{"aten::gone", "aten::new", "aten::op33", "aten::op44"}));
  EXPECT_EQ(loop.calls[0].name, "aten::new") << "the largest first";
  EXPECT_TRUE(loop.calls[0].is_new());
  EXPECT_FALSE(loop.calls[0].is_gone());
  EXPECT_EQ(loop.calls[0].calls.b.value, 7);
}

TEST(Compare, KernelsAreComparedApartFromOps) {
  std::mt19937 random(19);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 0.5, 0).op("aten::mm", correlated(random, 40, 0), 1);
  b.loop().steps(correlated(random, 40, 0), 0.5, 0).op("aten::mm", correlated(random, 40, 0), 1);
  for (const char* name : {"same", "other"}) {
    a.kernel(name, correlated(random, 40, 0), 20);
    b.kernel(name, correlated(random, 40, 0), 20);
  }
  a.kernel("volta_sgemm", correlated(random, 40, 0), 50);
  b.kernel("volta_h884gemm", correlated(random, 40, 0), 10);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  ASSERT_EQ(loop.calls.size(), 1u);
  ASSERT_EQ(loop.kernels.size(), 4u);
  EXPECT_EQ(loop.kernels[0].kind, "kernel");
  EXPECT_EQ(loop.kernels[0].name, "volta_sgemm");
  EXPECT_TRUE(loop.kernels[0].is_gone());
  EXPECT_EQ(loop.kernels[1].name, "volta_h884gemm");
  EXPECT_TRUE(loop.kernels[1].is_new());
  EXPECT_EQ(loop.kernels[1].phase, "backward");
  EXPECT_FALSE(loop.kernels[2].changed());
  EXPECT_FALSE(loop.kernels[3].changed());
}

TEST(Compare, KernelsAreComparedOnlyWhereBothHaveADevice) {
  std::mt19937 random(20);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 1, 0).kernel("k", correlated(random, 40, 0), 5);
  b.loop().steps(correlated(random, 40, 0), 1, 0);
  EXPECT_TRUE(compare(a.report(), b.report()).loops.at(0).kernels.empty());
}

TEST(Compare, ARealTrifleIsMarkedAsOne) {
  std::mt19937 random(17);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 50, 0).op("aten::add", correlated(random, 40, 0), 1);
  b.loop().steps(correlated(random, 40, 0), 50, 0).op("aten::add", correlated(random, 40, 0), 9);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_TRUE(loop.calls.at(0).changed());
  EXPECT_TRUE(loop.calls[0].trifle) << "8 µs of 50 ms";
  EXPECT_FALSE(loop.calls[0].matters());
}

TEST(Compare, SlowStepsAreToldFromTheUsualOnes) {
  std::mt19937 random(18);
  RunBuilder a, b;
  auto stalling = correlated(random, 200, 0, 0.01);
  for (std::size_t i = 0; i < stalling.size(); i += 10) stalling[i] *= 4;
  a.loop().steps(correlated(random, 200, 0, 0.01), 5, 0);
  b.loop().steps(stalling, 5, 0);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_EQ(change_of(loop), "slower");
  EXPECT_FALSE(loop.median.changed);
  EXPECT_THAT(reasons_of(loop).at(0), StartsWith("The median step is unchanged"));
}

TEST(Compare, AMedianThatIsNotToldIsNotSaidToBeAsItWas) {
  LoopComparison loop;
  loop.mean = difference_of({218e6, 5e6, 60}, {103e6, 5e6, 60});
  loop.median = difference_of({193e6, 50e6, 60}, {77e6, 50e6, 60});
  ASSERT_TRUE(loop.mean.changed);
  ASSERT_FALSE(loop.median.changed);
  EXPECT_EQ(reasons_of(loop), std::vector<std::string>{});
  loop.median = difference_of({193e6, 2e6, 60}, {194e6, 2e6, 60});
  EXPECT_THAT(reasons_of(loop), ElementsAre(StartsWith("The median step is unchanged")));
}

TEST(Compare, OneStepTellsNothing) {
  RunBuilder a, b;
  a.loop().steps({1.0}, 2, 3);
  b.loop().steps({1.0, 1.01, 0.99}, 2, 1);
  const Comparison comparison = compare(a.report(), b.report());
  const LoopComparison& loop = comparison.loops.at(0);
  EXPECT_EQ(change_of(loop), "unknown");
  EXPECT_FALSE(loop.mean.changed);
  EXPECT_THAT(answer_of(loop), StartsWith("Too few steps"));
  EXPECT_TRUE(ids(comparison).contains("steps"));
}

TEST(Compare, LoopsThatNeverTrainAreToldInCalls) {
  RunBuilder a, b;
  a.loop().steps({1.0}, 2, 3);
  b.loop().steps({1.0}, 2, 1);
  const auto answer = [&] { return answer_of(compare(a.report(), b.report()).loops.at(0)); };
  a.report().loops[0].trains = false;
  EXPECT_THAT(answer(), HasSubstr(" a step in B"));
  b.report().loops[0].trains = false;
  EXPECT_THAT(answer(), HasSubstr(" a call in B"));
}

TEST(Compare, NothingToCompareIsNoLoop) {
  RunBuilder a, empty;
  a.loop().steps({1, 1, 1}, 2, 3);
  EXPECT_TRUE(compare(a.report(), empty.report()).loops.empty());
  EXPECT_TRUE(compare(empty.report(), empty.report()).loops.empty());
  EXPECT_THAT(compare(a.report(), empty.report()).only_in_a, ElementsAre(0u));
}

std::vector<LoopReport> loops_of_ranks(const std::vector<std::int64_t>& ranks) {
  std::vector<LoopReport> loops;
  for (const std::int64_t rank : ranks) {
    loops.emplace_back();
    loops.back().rank = rank;
  }
  return loops;
}

TEST(MatchLoops, ByRankThenByOrder) {
  auto match = match_loops(loops_of_ranks({1, 0, 2}), loops_of_ranks({0, 1, 2}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 1}, Pair{1, 0}, Pair{2, 2}));
  match = match_loops(loops_of_ranks({-1, -1}), loops_of_ranks({-1, -1, -1}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 0}, Pair{1, 1}));
  EXPECT_THAT(match.only_in_b, ElementsAre(2u));
  match = match_loops(loops_of_ranks({-1}), loops_of_ranks({3, 0}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 0})) << "without ranks of its own: the first";
  match = match_loops(loops_of_ranks({0, 0, 1}), loops_of_ranks({1, 0}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 1}, Pair{2, 0}));
  EXPECT_THAT(match.only_in_a, ElementsAre(1u));
}

TEST(MatchLoops, ByDeviceWithinARank) {
  const auto on = [](std::vector<std::int64_t> devices) {
    std::vector<LoopReport> loops;
    for (const std::int64_t number : devices) {
      loops.emplace_back();
      if (number < 0) continue;
      loops.back().device = DeviceId(7);
      loops.back().device_number = number;
    }
    return loops;
  };
  EXPECT_THAT(match_loops(on({1, 0}), on({0, 1})).pairs, ElementsAre(Pair{0, 1}, Pair{1, 0}));
  EXPECT_THAT(match_loops(on({-1}), on({3})).pairs, ElementsAre(Pair{0, 0}))
      << "the same loop, moved to a device";
  EXPECT_THAT(match_loops(on({0}), on({-1, 0})).pairs, ElementsAre(Pair{0, 1}));
}

TEST(Notes, SayWhatMakesRunsHardToCompare) {
  const std::vector<double> noise(30, 1.0);
  const auto notes_with = [&](const auto& change) {
    RunBuilder a, b;
    a.loop().steps(noise, 2, 3);
    b.loop().steps(noise, 2, 3);
    change(b);
    return ids(compare(a.report(), b.report()));
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(notes_with([](RunBuilder&) {}), Ids{});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.torch_version = "1.13.1"; }),
            Ids{"torch-version"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.hosts = {"other"}; }), Ids{"hosts"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.cpu_count = 8; }), Ids{"cores"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().losses = {{ThreadId(1), "op", 3}}; }),
            Ids{"losses"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].marker = StepMarker::kUser; }),
            Ids{"marker"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].ops_recorded = false; }),
            Ids{"tier"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].input.inferred = true; }),
            Ids{"input"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].analysed.resize(5); }),
            Ids{"steps"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.being_recorded = true; }),
            Ids{"recording"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().deaths = {"It died."}; }), Ids{"died"});
  EXPECT_EQ(notes_with([&](RunBuilder& b) { b.loop().steps(noise, 1, 1); }), Ids{"loops"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].rank = 0; }), Ids{"ranks"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].device = DeviceId(1); }),
            Ids{"device"});
}

// Steps of 2 ms and 8 ms, which hold the given samples; the mark of a batch is what says so.
LoopComparison compare_batches(std::int64_t samples_a, std::int64_t samples_b) {
  std::mt19937 random(3);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 100, 0.3), 2, 0);
  b.loop().steps(correlated(random, 100, 0.3), 8, 0);
  const auto mark = [](RunBuilder& run, std::int64_t samples) {
    run.report().loops[0].padding.batches = samples > 0 ? 100 : 0;
    run.report().loops[0].padding.samples = samples;
  };
  mark(a, samples_a);
  mark(b, samples_b);
  return compare(a.report(), b.report()).loops.at(0);
}

TEST(Compare, SamplesTellWhereStepsHoldDifferentNumbersOfThem) {
  const LoopComparison loop = compare_batches(100, 1600);
  ASSERT_TRUE(loop.sample);
  EXPECT_NEAR(loop.sample->a.value, loop.mean.a.value, 1);
  EXPECT_NEAR(loop.sample->b.value, loop.mean.b.value / 16, 1);
  EXPECT_TRUE(loop.sample->changed);
  EXPECT_GT(loop.mean.delta(), 0);
  EXPECT_EQ(change_of(loop), "faster");
  EXPECT_THAT(answer_of(loop),
              AllOf(StartsWith("B is 3.9 × faster: "), HasSubstr(" a sample instead of ")));
  EXPECT_EQ(reasons_of(loop), std::vector<std::string>{"A step has 1 sample in A and 16 samples in "
                                                       "B; the other figures are per step."});
}

// A step of 16 samples is as good as 16 of one: it is not taken to vary as much as a single sample.
TEST(Compare, AFewLargeBatchesAreEnoughToTell) {
  std::mt19937 random(5);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 320, 0.3, 0.25), 2, 0);
  b.loop().steps(correlated(random, 18, 0.3, 0.06), 16, 0);
  a.report().loops[0].padding.batches = a.report().loops[0].padding.samples = 320;
  b.report().loops[0].padding.batches = 18;
  b.report().loops[0].padding.samples = 18 * 16;
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_EQ(change_of(loop), "faster") << answer_of(loop);
}

TEST(Compare, StepsTellWhereSamplesAreAlikeOrNotKnown) {
  for (const auto& [a, b] : {std::pair{1600, 1600}, {1600, 1590}, {0, 1600}, {1600, 0}, {0, 0}}) {
    const LoopComparison loop = compare_batches(a, b);
    EXPECT_FALSE(loop.sample) << a << ", " << b;
    EXPECT_EQ(change_of(loop), "slower");
    EXPECT_THAT(answer_of(loop), HasSubstr(" a step instead of "));
  }
}

TEST(Notes, HowCudnnWasSetWhereBothRunsSay) {
  const std::vector<double> noise(30, 1.0);
  const auto notes_of_modes = [&](std::optional<bool> a_mode, std::optional<bool> b_mode) {
    RunBuilder a, b;
    a.loop().steps(noise, 2, 3);
    b.loop().steps(noise, 2, 3);
    a.report().run.cudnn_benchmark = a_mode;
    b.report().run.cudnn_benchmark = b_mode;
    return ids(compare(a.report(), b.report()));
  };
  EXPECT_EQ(notes_of_modes(true, false), std::set<std::string>{"cudnn-benchmark"});
  EXPECT_EQ(notes_of_modes(true, true), std::set<std::string>{});
  EXPECT_EQ(notes_of_modes(true, std::nullopt), std::set<std::string>{});
}

TEST(Explain, WordsOfDifferences) {
  EXPECT_EQ(signed_time_text(-2.28e6), "−2.28 ms");
  EXPECT_EQ(signed_time_text(12'300), "+12.3 µs");
  EXPECT_EQ(signed_time_text(0.2), "0 ns");
  EXPECT_EQ(signed_percent_text(-0.473), "−47.3 %");
  EXPECT_EQ(signed_percent_text(0.0001), "0.0 %");
  EXPECT_EQ(time_interval_text({-2.31e6, -0.5e6}), "−2.31 … −0.50 ms");
  LoopComparison loop;
  loop.mean = difference_of({4.82e6, 0.01e6, 100}, {2.54e6, 0.01e6, 100});
  EXPECT_EQ(answer_of(loop),
            "B is 1.9 × faster: 2.54 ms a step instead of 4.82 (−47.3 %, 95 % CI −47.8 … −46.8)");
  loop.mean = difference_of({900e3, 1e3, 100}, {1.02e6, 1e3, 100});
  EXPECT_EQ(
      answer_of(loop),
      "B is 13.3 % slower: 1.02 ms a step instead of 900 µs (+13.3 %, 95 % CI +13.0 … +13.7)");
  loop.mean = difference_of({4.82e6, 0.1e6, 100}, {4.79e6, 0.1e6, 100});
  EXPECT_EQ(
      answer_of(loop),
      "No difference beyond noise: 4.79 ms a step in B, 4.82 in A (−0.6 %, 95 % CI −6.2 … +5.3)");
}

}  // namespace
}  // namespace stepscope::testing

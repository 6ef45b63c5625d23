// Estimates and their differences, on series whose truth is known: like with like stays noise at
// the nominal rate, known shifts are found with the truth in the interval.
#include "analyzer/compare/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "analyzer/compare/difference.h"
#include "analyzer/compare/student_t.h"
#include "tests/analyzer/compared_runs.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;

using Pair = std::pair<std::size_t, std::size_t>;

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
  EXPECT_LE(estimate.pieces, static_cast<double>(kMaxPieces));
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
constexpr double kMaxAlarms = 0.095;
constexpr double kMinAlarms = 0.005;  // below it, the intervals are useless

TEST(Comparison, LikeWithLikeIsNoiseWhateverTheCorrelation) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  std::printf("phi  steps of A, B  alarms: mean  p50\n");  // the table of docs/comparing.md
  for (const double phi : {0.0, 0.3, 0.6, 0.8}) {
    for (const auto& [a, b] : {Pair{60, 60}, Pair{100, 100}, Pair{80, 400}, Pair{500, 500}}) {
      const double mean = false_alarms([](const auto& v) { return estimate_mean(v); }, phi, a, b);
      const double median =
          false_alarms([](const auto& v) { return estimate_median(v); }, phi, a, b);
      std::printf("%.1f  %3zu, %3zu  %.1f %%  %.1f %%\n", phi, a, b, 100 * mean, 100 * median);
      EXPECT_LE(mean, kMaxAlarms) << "mean, phi " << phi << ", " << a << " and " << b << " steps";
      EXPECT_GE(mean, kMinAlarms) << "mean, phi " << phi << ", " << a << " and " << b << " steps";
      EXPECT_LE(median, kMaxAlarms) << "p50, phi " << phi << ", " << a << " and " << b << " steps";
    }
  }
}

TEST(Comparison, FewStepsRaiseNoMoreAlarmsWhenTheyAreIndependent) {
  for (const auto& [a, b] : {Pair{2, 2}, Pair{3, 5}, Pair{5, 5}, Pair{4, 200}, Pair{10, 30}}) {
    EXPECT_LE(false_alarms([](const auto& v) { return estimate_mean(v); }, 0, a, b), kMaxAlarms)
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
  EXPECT_LE(alarms, kMaxAlarms * kPairs);
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

}  // namespace
}  // namespace stepscope::testing

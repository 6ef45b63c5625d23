// Steps that change over the run: known changes are measured, noise of one level is none.
#include "analyzer/verdict/trend.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/analyzer/noise.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

std::vector<std::int64_t> numbered(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

TEST(Trend, AKnownSlopeIsMeasured) {
  for (const std::size_t steps : {60u, 300u, 5000u}) {
    const double slope = 3e6 / static_cast<double>(steps - 1);
    int covered = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Random random(seed);
      std::vector<double> times;
      for (std::size_t i = 0; i < steps; ++i)
        times.push_back(slope * static_cast<double>(i) + lognormal(random, 10e6, 0.05));
      const auto trend = trend_of(times, numbered(steps));
      ASSERT_TRUE(trend.has_value()) << steps << ", seed " << seed;
      EXPECT_EQ(trend->jump_at, 0);
      EXPECT_NEAR(trend->change, 3e6, steps < 100 ? 0.8e6 : 0.4e6);
      covered += trend->slope_ci.low <= slope && slope <= trend->slope_ci.high;
    }
    EXPECT_GE(covered, 34) << "of 40 intervals of 95 %, " << steps << " steps";
  }
}

TEST(Trend, AJumpIsFoundWhereItIs) {
  for (const double change : {-2e6, 3e6}) {
    Random random(3);
    std::vector<double> times;
    for (int i = 1; i <= 600; ++i)
      times.push_back(lognormal(random, 10e6, 0.04) + (i >= 200 ? change : 0));
    const auto trend = trend_of(times, numbered(600));
    ASSERT_TRUE(trend.has_value());
    EXPECT_NEAR(static_cast<double>(trend->jump_at), 200, 3);
    EXPECT_NEAR(trend->change, change, 0.2e6);
    EXPECT_LE(trend->change_ci.low, change);
    EXPECT_GE(trend->change_ci.high, change);
  }
}

// Too short for the test of a trend, but plain.
TEST(Trend, AShortLevelAtTheEndIsAJump) {
  for (const std::size_t steps : {200u, 300u, 3000u}) {
    for (const double ratio : {0.5, 2.0, 5.0}) {
      Random random(4);
      const std::size_t late = steps / 20;
      std::vector<double> times;
      for (std::size_t i = 0; i < steps; ++i)
        times.push_back(lognormal(random, i + late < steps ? 10e6 : ratio * 10e6, 0.03));
      const auto trend = trend_of(times, numbered(steps));
      ASSERT_TRUE(trend.has_value()) << ratio;
      EXPECT_NEAR(static_cast<double>(trend->jump_at), static_cast<double>(steps - late + 1), 1);
      EXPECT_NEAR(trend->change, (ratio - 1) * 10e6, 0.03 * ratio * 10e6);
    }
  }
}

TEST(Trend, OutliersMoveNothing) {
  Random random(5);
  std::vector<double> times;
  for (int i = 0; i < 400; ++i)
    times.push_back(lognormal(random, 10e6, 0.05) + 5e3 * i + (i % 9 == 0 ? 90e6 : 0));
  const auto trend = trend_of(times, numbered(400));
  ASSERT_TRUE(trend.has_value());
  EXPECT_NEAR(trend->change, 2e6, 0.5e6);
}

TEST(Trend, AChangeOfLessThanKLeastDriftIsNone) {
  Random random(6);
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) times.push_back(lognormal(random, 10e6, 0.01) + 150.0 * i);
  EXPECT_FALSE(trend_of(times, numbered(2000)).has_value()) << "3 %, and certain";
}

TEST(Trend, EqualStepsHaveNone) {
  EXPECT_FALSE(trend_of(std::vector<double>(100, 5e6), numbered(100)).has_value());
  EXPECT_FALSE(trend_of({}, {}).has_value());
  std::vector<double> growing(kMinOfTrend - 1);
  std::iota(growing.begin(), growing.end(), 1.0);
  EXPECT_FALSE(trend_of(growing, numbered(growing.size())).has_value()) << "too few";
}

// At most 1 in 100, however the noise is made; of neighbours that are correlated by 0.9, 2 in 100.
TEST(Trend, NoiseHasNone) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  const std::vector<std::pair<std::size_t, int>> lengths = {{50, 500}, {200, 100}, {5000, 10}};
  for (const Noise& noise : one_kind_of_many_shapes()) {
    int alarms = 0, runs = 0;
    Random random(17);
    for (const auto& [steps, repeats] : lengths) {
      for (int run = 0; run < repeats; ++run, ++runs)
        alarms += trend_of(noise.make(random, steps), numbered(steps)).has_value();
    }
    const bool dependent = noise.name.starts_with("autoregressive 0.9");
    EXPECT_LE(alarms, runs / (dependent ? 50 : 100)) << noise.name;
  }
}

}  // namespace
}  // namespace stepscope::testing

// Kinds of step: mixtures with known answers are taken apart, and a run of one kind stays one.
#include "analyzer/verdict/populations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "analyzer/verdict/dip.h"
#include "analyzer/verdict/rhythm.h"
#include "tests/analyzer/noise.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

constexpr std::size_t kInput = 0, kCompute = 1, kCheckpoint = 2;

// Steps that compute for 10 ms, give or take 4 %, and wait for input for 0.1 ms.
class Mixture {
 public:
  explicit Mixture(std::size_t steps, std::uint64_t seed = 1) : random(seed) {
    profiles.causes.assign(3, std::vector<double>(steps, 0));
    for (std::size_t i = 0; i < steps; ++i) {
      profiles.numbers.push_back(static_cast<std::int64_t>(i) + 2);  // the first was warm-up
      profiles.causes[kInput][i] = lognormal(random, 0.1e6, 0.3);
      profiles.causes[kCompute][i] = lognormal(random, 10e6, 0.04);
    }
  }

  template <typename Which, typename Time>
  void add(std::size_t cause, Which which, Time time) {
    for (std::size_t i = 0; i < profiles.numbers.size(); ++i) {
      if (which(profiles.numbers[i])) profiles.causes[cause][i] += time();
    }
  }

  std::vector<std::vector<std::int64_t>> kinds() {
    profiles.times.assign(profiles.numbers.size(), 0);
    for (const auto& cause : profiles.causes) {
      for (std::size_t i = 0; i < cause.size(); ++i) profiles.times[i] += cause[i];
    }
    std::vector<std::vector<std::int64_t>> result;
    for (const auto& members : find_populations(profiles)) {
      result.emplace_back();
      for (const std::size_t i : members) result.back().push_back(profiles.numbers[i]);
    }
    return result;
  }

  Random random;
  StepProfiles profiles;
};

std::vector<std::int64_t> every(std::int64_t period, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = first; number <= last; number += period) numbers.push_back(number);
  return numbers;
}

TEST(Populations, ALoaderThatStallsEveryTwentiethStep) {
  for (const std::size_t steps : {99u, 400u, 5000u}) {
    Mixture run(steps);
    run.add(
        kInput, [](auto number) { return number % 20 == 0; },
        [&] { return lognormal(run.random, 15e6, 0.3); });
    const auto kinds = run.kinds();
    ASSERT_EQ(kinds.size(), 2u) << steps;
    EXPECT_EQ(kinds[1], every(20, 20, static_cast<std::int64_t>(steps) + 1));
  }
}

TEST(Populations, ARareCheckpointIsFoundByItsRhythm) {
  Mixture run(260);
  run.add(
      kCheckpoint, [](auto number) { return number % 50 == 0; },
      [&] { return uniform(run.random, 20e6, 40e6); });
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[1], every(50, 50, 261));
}

TEST(Populations, AStallThatComesAtRandomIsFound) {
  Mixture run(400);
  std::vector<std::int64_t> stalled;
  run.add(
      kInput,
      [&](auto number) {
        if (uniform(run.random, 0, 1) > 0.08) return false;
        stalled.push_back(number);
        return true;
      },
      [&] { return lognormal(run.random, 20e6, 0.15); });
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[1], stalled);
}

// 12 ms after 10 ms, either with 4 % of noise: they overlap, and no threshold parts them without
// error. 40 % of each 1,000 are long.
TEST(Populations, TwoShapesOfBatches) {
  Mixture run(1000);
  std::size_t larger = 0;
  run.add(
      kCompute,
      [&](auto) {
        const bool is = uniform(run.random, 0, 1) < 0.4;
        larger += is;
        return is;
      },
      [] { return 2.5e6; });
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_NEAR(static_cast<double>(kinds[1].size()), static_cast<double>(larger), 10);
}

TEST(Populations, StallsAndCheckpointsAreThreeKinds) {
  Mixture run(1000);
  const auto is_checkpoint = [](auto number) { return number % 50 == 0; };
  run.add(
      kInput, [&](auto number) { return number % 20 == 0 && !is_checkpoint(number); },
      [&] { return lognormal(run.random, 8e6, 0.2); });
  run.add(kCheckpoint, is_checkpoint, [&] { return lognormal(run.random, 60e6, 0.2); });
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[2], every(50, 50, 1001));
  EXPECT_EQ(kinds[1].size(), 40u) << "every 20th, less every 100th";
  const Rhythm rhythm = rhythm_of(kinds[1], 1000);
  EXPECT_EQ(rhythm.period, 20);
  EXPECT_EQ(rhythm.first, 20);
}

// The profile tells what the noise of the whole step hides.
TEST(Populations, ACauseTellsThemApartWhereTheStepTimeDoesNot) {
  Mixture run(500);
  for (double& time : run.profiles.causes[kCompute]) time = lognormal(run.random, 10e6, 0.3);
  run.add(kInput, [](auto number) { return number % 4 == 0; }, [] { return 4e6; });
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[1], every(4, 4, 501));
}

TEST(Populations, RareFastStepsAreFound) {
  Mixture run(300);
  for (std::size_t i = 0; i < 300; ++i) {
    if (run.profiles.numbers[i] % 30 == 0) run.profiles.causes[kCompute][i] = 3e6;
  }
  const auto kinds = run.kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[1], every(30, 30, 301)) << "the last batch of an epoch is small";
}

TEST(Populations, AKindThatTakesHardlyLongerIsNone) {
  Mixture run(500);
  run.add(kCheckpoint, [](auto number) { return number % 10 == 0; }, [] { return 0.5e6; });
  EXPECT_EQ(run.kinds().size(), 1u);
}

TEST(Populations, AFewOutliersAreNone) {
  Mixture run(300);
  run.add(kInput, [](auto number) { return number == 40 || number == 171; }, [] { return 80e6; });
  run.add(kInput, [](auto number) { return number == 203; }, [] { return 30e6; });
  EXPECT_EQ(run.kinds().size(), 1u);
}

// A level that changes once is a trend (trend_test.cc), not two kinds that come and go.
TEST(Populations, ALevelThatChangesOnceIsNone) {
  Mixture run(300);
  run.add(kCompute, [](auto number) { return number > 180; }, [] { return 5e6; });
  EXPECT_EQ(run.kinds().size(), 1u);
}

enum class Order { kInterleaved, kMiddle, kEnd };  // where the slow steps are

// Steps of two levels with their own jitter, lognormal with a tail of delays.
struct TwoLevels {
  double ratio = 0, jitter = 0, share = 0;
  std::vector<double> times;
  std::vector<std::uint8_t> slow;

  TwoLevels(Random& random, std::size_t steps, Order order)
      : ratio(std::exp(uniform(random, std::log(1.3), std::log(6)))),
        jitter(uniform(random, 0.01, 0.05)),
        share(uniform(random, 0.05, 0.95)) {
    const double begin = order == Order::kMiddle ? uniform(random, 0, 1 - share) : 1 - share;
    for (std::size_t i = 0; i < steps; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(steps);
      slow.push_back(order == Order::kInterleaved ? uniform(random, 0, 1) < share
                                                  : at >= begin && at < begin + share);
      double time = lognormal(random, slow.back() ? 10e6 * ratio : 10e6, jitter);
      if (uniform(random, 0, 1) < 0.1)
        time *= 1 + std::exponential_distribution<>(1 / jitter)(random);
      times.push_back(time);
    }
  }

  // Every third step of the fast level is delayed: a structure of its own.
  void delay_fast_steps(Random& random) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (slow[i] == 0 && uniform(random, 0, 1) < 0.3)
        times[i] *= 1 + (std::min(ratio, 3.0) - 1) * uniform(random, 0.15, 0.2);
    }
  }

  [[nodiscard]] std::vector<std::vector<std::size_t>> kinds() const {
    StepProfiles profiles;
    profiles.numbers.resize(times.size());
    std::iota(profiles.numbers.begin(), profiles.numbers.end(), 2);
    profiles.times = times;
    profiles.causes.assign(2, {});
    for (const double time : times) {
      profiles.causes[0].push_back(time - 1e6);
      profiles.causes[1].push_back(1e6);
    }
    return find_populations(profiles);
  }

  // The share of the steps that are of a kind to which mainly the other level belongs.
  [[nodiscard]] double misplaced(const std::vector<std::vector<std::size_t>>& kinds) const {
    std::size_t wrong = 0;
    for (const auto& kind : kinds) {
      const auto of_slow = static_cast<std::size_t>(
          std::ranges::count_if(kind, [&](std::size_t i) { return slow[i] != 0; }));
      wrong += std::min(of_slow, kind.size() - of_slow);
    }
    return static_cast<double>(wrong) / static_cast<double>(times.size());
  }
};

// The steps of a run: from 60 to 460, however many runs there are.
std::size_t length(unsigned run, unsigned runs) { return 60 + std::size_t{400} * run / runs; }

TEST(Populations, TwoLevelsAreToldApart) {
  const unsigned runs = random_runs(400);
  for (const bool structured : {false, true}) {
    unsigned merged = 0;
    for (unsigned seed = 0; seed < runs; ++seed) {
      Random random(seed);
      TwoLevels levels(random, length(seed, runs), Order::kInterleaved);
      if (structured) levels.delay_fast_steps(random);
      const auto kinds = levels.kinds();
      merged += kinds.size() == 1;
      if (kinds.size() == 1) continue;
      EXPECT_LE(levels.misplaced(kinds), 0.02) << "seed " << seed << ", " << levels.ratio << " x";
    }
    EXPECT_LE(merged, runs / 16) << "short runs with a rare kind";
  }
}

// A level that changes once is a trend. If there are kinds, they do not span both levels.
TEST(Populations, LevelsInBlocksAreNotCut) {
  const unsigned runs = random_runs(400);
  for (const Order order : {Order::kMiddle, Order::kEnd}) {
    for (const bool structured : {false, true}) {
      for (unsigned seed = 0; seed < runs; ++seed) {
        Random random(seed);
        TwoLevels levels(random, length(seed, runs), order);
        if (structured) levels.delay_fast_steps(random);
        const auto kinds = levels.kinds();
        if (kinds.size() == 1) continue;
        EXPECT_LE(levels.misplaced(kinds), 0.02) << "seed " << seed << ", " << levels.ratio << " x";
      }
    }
  }
}

TEST(Populations, TooFewStepsAreNotTakenApart) {
  Mixture run(kMinSteps - 1);
  run.add(kInput, [](auto number) { return number % 2 == 0; }, [] { return 20e6; });
  EXPECT_EQ(run.kinds().size(), 1u);
}

// kFalseKinds is a bound; of each shape of noise it is less than a quarter of it. A run's causes
// are noisy too.
TEST(Populations, OneKindStaysOne) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  const std::vector<std::pair<std::size_t, int>> lengths = {
      {20, 600}, {50, 400}, {200, 200}, {1000, 60}, {5000, 12}};
  for (const Noise& noise : one_kind_of_many_shapes()) {
    int alarms = 0, runs = 0;
    Random random(11);
    for (const auto& [steps, repeats] : lengths) {
      for (int run = 0; run < repeats; ++run, ++runs) {
        StepProfiles profiles;
        profiles.numbers.resize(steps);
        std::iota(profiles.numbers.begin(), profiles.numbers.end(), 1);
        profiles.times = noise.make(random, steps);
        profiles.causes.assign(3, {});
        for (const double time : profiles.times) {
          const double input = time * uniform(random, 0.1, 0.4);
          const double host = std::min(time - input, lognormal(random, 0.3e6, 0.5));
          profiles.causes[0].push_back(input);
          profiles.causes[1].push_back(host);
          profiles.causes[2].push_back(time - input - host);
        }
        alarms += find_populations(profiles).size() > 1;
      }
    }
    EXPECT_LE(alarms, runs / 400) << noise.name;
  }
}

TEST(Populations, AHundredThousandStepsAreQuick) {
  Mixture run(100'000);
  run.add(
      kInput, [](auto number) { return number % 20 == 0; },
      [&] { return lognormal(run.random, 15e6, 0.3); });
  EXPECT_EQ(run.kinds().size(), 2u);
}

TEST(Rhythm, NeedsRegularity) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(rhythm_of(Numbers{3, 4, 11, 30, 31}, 40).period, 0);
  EXPECT_EQ(rhythm_of(Numbers{5, 6, 7, 8}, 40).period, 0) << "a stretch, no rhythm";
  EXPECT_EQ(rhythm_of(Numbers{1, 11}, 40).period, 0);
  const Rhythm rhythm = rhythm_of(Numbers{10, 20, 30, 50, 60}, 60);
  EXPECT_EQ(rhythm.period, 10) << "one is missing";
  EXPECT_EQ(rhythm.first, 10);
  EXPECT_LT(rhythm.log_p, 0);
}

TEST(Dip, OfKnownSamples) {
  std::vector<double> even(100), halves(100, 1);
  std::iota(even.begin(), even.end(), 0.0);
  std::fill(halves.begin() + 50, halves.end(), 2);
  EXPECT_DOUBLE_EQ(dip_of(even), 1.0 / 200);
  EXPECT_DOUBLE_EQ(dip_of(halves), 0.25);
  EXPECT_DOUBLE_EQ(dip_of(std::vector<double>(7, 3.0)), 1.0 / 14);
  EXPECT_EQ(dip_of({}), 0);
  // By another implementation (the Python package diptest 0.12).
  EXPECT_NEAR(dip_of(std::vector<double>{1, 2, 3, 4, 20, 21, 22, 23, 24, 60}), 0.16842105263157894,
              1e-15);
  EXPECT_NEAR(dip_of(std::vector<double>{10, 11, 11, 12, 12, 12, 13, 13, 14, 30, 31, 31, 32}),
              0.13675213675213674, 1e-15);
  EXPECT_NEAR(dip_of(std::vector<double>{0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100}),
              0.045454545454545456, 1e-15);
}

// No distance from a unimodal distribution changes when the axis is shifted, stretched or mirrored.
TEST(Dip, DoesNotDependOnTheAxis) {
  Random random(4);
  for (int run = 0; run < 50; ++run) {
    std::vector<double> values, mirrored;
    for (int i = 0; i < 80; ++i) values.push_back(lognormal(random, i % 3 == 0 ? 4.0 : 1.0, 0.2));
    std::sort(values.begin(), values.end());
    for (auto it = values.rbegin(); it != values.rend(); ++it) mirrored.push_back(7 - 3 * *it);
    EXPECT_NEAR(dip_of(values), dip_of(mirrored), 1e-12);
  }
}

// The constant that its header states.
TEST(Dip, LimitIsExceededByLessThanOneInAThousandUniformSamples) {
  Random random(2);
  for (const std::size_t count : {20u, 100u, 400u}) {
    int beyond = 0;
    for (int run = 0; run < 4000; ++run) {
      std::vector<double> values(count);
      double sum = 0;
      for (double& value : values) {  // sums of exponential spacings: uniform order statistics
        sum += std::exponential_distribution<double>(1)(random);
        value = sum;
      }
      beyond += dip_of(values) * std::sqrt(static_cast<double>(count)) > kDipLimit;
    }
    EXPECT_LE(beyond, 4) << count;
  }
}

}  // namespace
}  // namespace stepscope::testing

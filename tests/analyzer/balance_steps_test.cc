// Which steps without ops stand for a run whose parts had ops in different shares.
#include "analyzer/balance_steps.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace stepscope {
namespace {

struct MadeRun {
  std::vector<double> times;
  std::vector<std::size_t> plain, all;

  // Appends steps of `ns`, give or take a tenth, of which a share has ops, which cost kCost.
  static constexpr double kCost = 10;
  void add(std::size_t steps, double ns, double with_ops) {
    std::uniform_real_distribution<double> chance(0, 1);
    for (std::size_t i = 0; i < steps; ++i) {
      const bool has_ops = chance(random_) < with_ops;
      if (!has_ops) plain.push_back(times.size());
      all.push_back(times.size());
      program_.push_back(ns * (0.9 + 0.2 * chance(random_)));
      times.push_back(program_.back() + (has_ops ? kCost : 0));
    }
  }
  // The mean step of the program itself.
  [[nodiscard]] double truth() const {
    return std::accumulate(program_.begin(), program_.end(), 0.0) /
           static_cast<double>(program_.size());
  }
  [[nodiscard]] double mean(const std::vector<std::size_t>& chosen) const {
    double sum = 0;
    for (const std::size_t i : chosen) sum += times[i];
    return sum / static_cast<double>(chosen.size());
  }
  [[nodiscard]] std::vector<std::size_t> balanced() const {
    return balanced_steps(times, plain, all, kCost);
  }

 private:
  std::minstd_rand random_{7};
  std::vector<double> program_;
};

TEST(BalancedSteps, SlowStepsCountAlthoughMostHaveOps) {
  MadeRun run;
  run.add(500, 220, 0.05);
  run.add(300, 860, 0.6);
  EXPECT_LT(run.mean(run.plain), 0.9 * run.truth());
  EXPECT_NEAR(run.mean(run.balanced()), run.truth(), 0.03 * run.truth());
  EXPECT_GT(run.balanced().size(), 200U);
}

TEST(BalancedSteps, ThoseWithOpsCountWhereThereAreNoOthers) {
  MadeRun run;
  run.add(400, 220, 0.05);
  run.add(200, 1000, 1);
  EXPECT_NEAR(run.mean(run.balanced()), run.truth(), 0.03 * run.truth());
}

TEST(BalancedSteps, AllCountWhereNothingIsBiased) {
  MadeRun even, early;
  even.add(800, 220, 0.3);
  EXPECT_EQ(even.balanced(), even.plain);
  early.add(50, 220, 0.6);  // as at the start of a run
  early.add(900, 220, 0.05);
  EXPECT_EQ(early.balanced(), early.plain);
}

TEST(BalancedSteps, AFewStepsAreOnePart) {
  MadeRun run;
  run.add(20, 220, 0.5);
  EXPECT_EQ(run.balanced(), run.plain);
  EXPECT_TRUE(balanced_steps({}, {}, {}, 1).empty());
}

}  // namespace
}  // namespace stepscope

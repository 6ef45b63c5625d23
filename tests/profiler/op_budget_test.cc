#include "profiler/session/op_budget.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace stepscope {
namespace {

// A program whose steps take `plain_ns`, and `cost` of that more when ops are recorded.
struct Program {
  double plain_ns = 1'000'000;
  double cost = 0.26;
  std::int64_t ops = 1000;
  double spread = 0.1;  // of the step times
  OpBudget::Recorded always{};
};

struct Done {
  std::vector<bool> had_ops;
  double extra_ns = 0, plain_ns = 0;

  [[nodiscard]] double overhead() const { return extra_ns / plain_ns; }
  [[nodiscard]] std::int64_t op_steps(std::size_t first, std::size_t last) const {
    std::int64_t count = 0;
    for (std::size_t i = first; i < last; ++i) count += had_ops[i] ? 1 : 0;
    return count;
  }
};

Done run(OpBudget& budget, const Program& program, std::size_t steps) {
  std::minstd_rand random(7);
  std::normal_distribution<double> noise(1, program.spread);
  Done result;
  for (std::size_t i = 0; i < steps; ++i) {
    const bool ops = budget.wants_ops();
    const double plain = program.plain_ns * std::max(noise(random), 0.2);
    const double extra = ops ? program.cost * program.plain_ns : 0;
    result.had_ops.push_back(ops);
    result.plain_ns += plain;
    result.extra_ns += extra;
    OpBudget::Recorded recorded = program.always;
    recorded.events += ops ? program.ops : 0;
    budget.step_ended(static_cast<std::int64_t>(plain + extra), recorded);
  }
  return result;
}

TEST(OpBudget, StaysWithinTheBudget) {
  for (const double share : {0.005, 0.02, 0.05}) {
    for (const double cost : {0.05, 0.26, 0.8}) {
      OpBudget budget(share, 1);
      const Done done = run(budget, {1'000'000, cost, 1000, 0.1}, 20'000);
      EXPECT_LT(done.overhead(), share * 1.15) << share << " " << cost;
      EXPECT_GT(done.overhead(), share * 0.4) << share << " " << cost;
    }
  }
}

// 15 marks and 150 allocations of a step of 1 ms are 1.2 % of it; ops get the rest.
TEST(OpBudget, CountsWhatEveryStepCosts) {
  OpBudget budget(0.02, 1);
  const Done done = run(budget, {.always = {15, 150}}, 20'000);
  EXPECT_NEAR(done.overhead(), 0.008, 0.003);
  EXPECT_NEAR(budget.spent(), done.overhead() + 0.012, 0.003);
}

// Two launches of a step of 1 ms are 1 % of it; they become known a hundred steps later.
TEST(OpBudget, CountsLaunchesWhenTheyBecomeKnown) {
  OpBudget budget(0.02, 1);
  Done whole;
  for (int i = 0; i < 200; ++i) {
    const Done done = run(budget, {.always = {}}, 99);
    whole.extra_ns += done.extra_ns;
    whole.plain_ns += done.plain_ns;
    budget.step_ended(1'000'000, {.launches = 200});
    whole.plain_ns += 1'000'000;
  }
  EXPECT_NEAR(whole.overhead(), 0.01, 0.004);
  EXPECT_NEAR(budget.spent(), whole.overhead() + 0.01, 0.004);
}

TEST(OpBudget, InPythonFewerMarksCostAsMuch) {
  OpBudget budget(0.02, 1, OpBudget::kCostPerPythonMarkNs);
  const Done done = run(budget, {.always = {4, 0}}, 20'000);
  EXPECT_NEAR(done.overhead(), 0.008, 0.003);
  EXPECT_NEAR(budget.spent(), done.overhead() + 0.012, 0.003);
}

TEST(OpBudget, OpsGetAPartOfTheBudgetWhateverElseCosts) {
  OpBudget budget(0.02, 1);
  const Done done = run(budget, {.always = {20, 2000}}, 20'000);
  EXPECT_NEAR(done.overhead(), 0.02 * OpBudget::kMinForOps, 0.003);
}

TEST(OpBudget, SaysWhatOpsCost) {
  OpBudget budget(0.02, 1);
  const Done done = run(budget, {}, 20'000);
  EXPECT_NEAR(budget.cost(), 0.26, 0.06);
  EXPECT_NEAR(budget.spent(), done.overhead(), 0.01);
}

TEST(OpBudget, CheapOpsAreInMostStepsAndStillMissingInSome) {
  OpBudget budget(0.02, 1);
  const Done done = run(budget, {20'000'000, 0.004, 400, 0.05}, 2000);
  EXPECT_GT(done.op_steps(0, 2000), 1400);
  EXPECT_LT(done.op_steps(0, 2000), 1800);
}

TEST(OpBudget, AShortRunHasStepsOfBothKinds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    OpBudget budget(0.02, seed);
    const Done done = run(budget, {}, 300);
    EXPECT_EQ(done.op_steps(0, OpBudget::kFirstOpSteps), OpBudget::kFirstOpSteps);
    const std::int64_t first = done.op_steps(OpBudget::kFirstOpSteps, 25);
    EXPECT_GE(first, 5) << seed;
    EXPECT_LE(first, 15) << seed;
    EXPECT_GE(done.op_steps(0, 300), 30) << seed;
    EXPECT_LE(done.op_steps(0, 300), 70) << seed;
  }
}

// A program that does something every tenth step must not have it in steps of one kind only.
TEST(OpBudget, BlocksDoNotFallInStepWithTheProgram) {
  OpBudget budget(0.02, 3);
  const Done done = run(budget, {1'000'000, 0.1, 1000, 0.05}, 40'000);
  std::vector<std::int64_t> by_place(10);
  for (std::size_t i = 300; i < done.had_ops.size(); ++i) by_place[i % 10] += done.had_ops[i];
  for (const std::int64_t count : by_place) EXPECT_GT(count, 300);
}

TEST(OpBudget, AStepThatStandsOutIsFollowedByOps) {
  OpBudget budget(0.02, 5);
  run(budget, {1'000'000, 0.02, 100, 0.01}, 3000);
  while (budget.wants_ops()) budget.step_ended(1'020'000, {100, 0});
  budget.step_ended(9'000'000, {});
  int steps = 0;
  for (; !budget.wants_ops(); ++steps) budget.step_ended(1'000'000, {});
  EXPECT_LE(steps, OpBudget::kLongestBlock);
}

TEST(OpBudget, LongStepsAreJudgedOneByOne) {
  OpBudget budget(0.02, 11);
  const Done done = run(budget, {200'000'000, 0.001, 5000, 0.01}, 200);
  int switches = 0;
  for (std::size_t i = 50; i < 200; ++i) switches += done.had_ops[i] != done.had_ops[i - 1] ? 1 : 0;
  EXPECT_GT(switches, 30);
}

}  // namespace
}  // namespace stepscope

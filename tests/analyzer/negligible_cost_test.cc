// When steps with ops count like those without.
#include "analyzer/negligible_cost.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

// Half of the steps take 1 - spread, half 1 + spread.
std::vector<double> steps(std::size_t count, double spread) {
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) times.push_back(i % 2 == 0 ? 1 - spread : 1 + spread);
  return times;
}

TEST(NegligibleCost, IsWhatIsBelowOnePercent) {
  EXPECT_TRUE(is_negligible(0.009, steps(100, 0), steps(400, 0)));
  EXPECT_FALSE(is_negligible(0.011, steps(100, 0), steps(400, 0)));
}

TEST(NegligibleCost, IsWhatIsSmallerThanTheUncertaintyOfFewerSteps) {
  // 1.5 % in three of four steps: 1.1 %. The mean of 100 steps is uncertain by 5 %, of 400 by 2.5
  // %.
  EXPECT_TRUE(is_negligible(0.015, steps(100, 0.5), steps(400, 0.5)));
  EXPECT_FALSE(is_negligible(0.015, steps(100, 0.1), steps(400, 0.1))) << "0.5 % less uncertain";
  EXPECT_FALSE(is_negligible(0.015, steps(10'000, 0.5), steps(40'000, 0.5)));
}

TEST(NegligibleCost, IsNeverAboveTwoPercent) {
  EXPECT_FALSE(is_negligible(0.021, steps(10, 0.9), steps(400, 0.9)));
}

TEST(NegligibleCost, LeavesNothingOutWhereNothingIsLeft) {
  EXPECT_FALSE(is_negligible(0.015, {}, steps(400, 0.5)));
  EXPECT_FALSE(is_negligible(0.015, steps(100, 0.5), steps(100, 0.5)));
}

}  // namespace
}  // namespace stepscope

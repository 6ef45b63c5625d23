#include "profiler/session/window.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

// The steps from 1 to 12 as letters: x recorded op by op.
std::string recorded(const RecordPlan& plan, OpsSwitch on_demand = OpsSwitch::kPlan) {
  std::string steps;
  for (std::int64_t step = 1; step <= 12; ++step)
    steps += ops_wanted(plan, on_demand, step) ? 'x' : '.';
  return steps;
}

TEST(WindowTest, EveryStepByDefault) { EXPECT_EQ(recorded({}), "xxxxxxxxxxxx"); }

TEST(WindowTest, BeforeTheFirstStepCountsAsTheFirst) {
  RecordPlan plan{};
  plan.first_step = 2;
  EXPECT_FALSE(ops_wanted(plan, OpsSwitch::kPlan, 0));
  EXPECT_TRUE(ops_wanted({}, OpsSwitch::kPlan, 0));
}

TEST(WindowTest, AStretchOfSteps) {
  RecordPlan plan{};
  plan.first_step = 3;
  plan.last_step = 5;
  EXPECT_EQ(recorded(plan), "..xxx.......");
  plan.last_step = 0;
  EXPECT_EQ(recorded(plan), "..xxxxxxxxxx");
}

TEST(WindowTest, AScheduleTakesTurns) {
  RecordPlan plan{};
  plan.wait = 2;
  plan.warmup = 1;
  plan.active = 1;
  EXPECT_EQ(recorded(plan), "...x...x...x");
  plan.repeat = 2;
  EXPECT_EQ(recorded(plan), "...x...x....");
}

TEST(WindowTest, OnDemandWins) {
  RecordPlan plan{};
  plan.phases_only = 1;
  EXPECT_EQ(recorded(plan), "............");
  EXPECT_EQ(recorded(plan, OpsSwitch::kOn), "xxxxxxxxxxxx");
  EXPECT_EQ(recorded({}, OpsSwitch::kOff), "............");
}

}  // namespace
}  // namespace stepscope

// Blocks of steps in which the ops of one process are recorded.
#include "profiler/recorder/ops_blocks.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

SessionTime at(std::int64_t seconds) { return session_time(seconds * 1'000'000'000); }

class OpsBlocksTest : public ::testing::Test {
 protected:
  // Whether a block of the process ended.
  bool look(std::int64_t step, std::int64_t seconds) {
    const OpsBlocks::Process running[] = {{70, 5, step, &switch_}, {71, 6, step, &other_}};
    return blocks_.end_due(running, OpsSwitch::kPlan, at(seconds));
  }

  std::atomic<OpsSwitch> switch_{OpsSwitch::kPlan};
  std::atomic<OpsSwitch> other_{OpsSwitch::kPlan};
  OpsBlocks blocks_;
};

TEST_F(OpsBlocksTest, OnlyTheOneProcessIsSwitched) {
  blocks_.begin({70, 5, 100, &switch_}, at(60));
  EXPECT_EQ(switch_, OpsSwitch::kOn);
  EXPECT_EQ(other_, OpsSwitch::kPlan);
  EXPECT_EQ(blocks_.text(), "5:60000000000-");
}

TEST_F(OpsBlocksTest, ABlockHasBothTheStepsAndTheLength) {
  blocks_.begin({70, 5, 100, &switch_}, at(60));
  EXPECT_FALSE(look(900, 79)) << "many steps, but too short";
  EXPECT_FALSE(look(105, 85)) << "long, but few steps";
  EXPECT_EQ(switch_, OpsSwitch::kOn);
  EXPECT_TRUE(look(110, 90));
  EXPECT_EQ(switch_, OpsSwitch::kPlan);
  EXPECT_TRUE(blocks_.all_over());
  EXPECT_EQ(blocks_.text(), "5:60000000000-90000000000");
  EXPECT_FALSE(look(200, 200)) << "it ends once";
}

TEST_F(OpsBlocksTest, AStepThatNeverEndsDoesNotMakeABlockEndless) {
  blocks_.begin({70, 5, 100, &switch_}, at(60));
  EXPECT_FALSE(look(100, 359));
  EXPECT_TRUE(look(100, 360));
  EXPECT_EQ(switch_, OpsSwitch::kPlan);
}

TEST_F(OpsBlocksTest, AnotherBlockMayFollowButNotOverlap) {
  blocks_.begin({70, 5, 100, &switch_}, at(60));
  blocks_.begin({70, 5, 101, &switch_}, at(61));
  look(200, 90);
  blocks_.begin({70, 5, 300, &switch_}, at(3000));
  EXPECT_EQ(blocks_.text(), "5:60000000000-90000000000 5:3000000000000-");
}

TEST_F(OpsBlocksTest, ABlockEndsWithItsProcess) {
  blocks_.begin({70, 5, 100, &switch_}, at(60));
  EXPECT_TRUE(blocks_.end_due({}, OpsSwitch::kPlan, at(61)));
  EXPECT_EQ(blocks_.text(), "5:60000000000-61000000000");
}

}  // namespace
}  // namespace stepscope

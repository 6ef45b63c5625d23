#include "profiler/session/step_counter.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StepCounterTest, BeginsInStepOne) {
  const StepCounter steps;
  EXPECT_EQ(steps.current(), 1);
  EXPECT_EQ(steps.completed(), 0);
}

TEST(StepCounterTest, TheOptimizerEndsAStep) {
  StepCounter steps;
  EXPECT_TRUE(steps.signal(StepMarker::kOptimizer));
  EXPECT_EQ(steps.current(), 2);
  EXPECT_EQ(steps.completed(), 1);
}

TEST(StepCounterTest, TheLoaderBeginsAStep) {
  StepCounter steps;
  EXPECT_FALSE(steps.signal(StepMarker::kLoader));  // step 1 begins with its wait
  EXPECT_EQ(steps.current(), 1);
  EXPECT_TRUE(steps.signal(StepMarker::kLoader));
  EXPECT_EQ(steps.current(), 2);
}

TEST(StepCounterTest, AnEpochsEndIsNoStep) {
  StepCounter steps;
  for (int wait = 0; wait < 3; ++wait) steps.signal(StepMarker::kLoader);
  steps.signal(StepMarker::kLoader);
  steps.loader_exhausted();
  EXPECT_EQ(steps.completed(), 3);
  EXPECT_FALSE(steps.signal(StepMarker::kLoader))
      << "step 4 begins with the next epoch's first wait";
  EXPECT_EQ(steps.current(), 4);
}

TEST(StepCounterTest, TheLoaderGoesBeforeTheOptimizer) {
  StepCounter steps;
  steps.signal(StepMarker::kLoader);
  EXPECT_FALSE(steps.signal(StepMarker::kOptimizer));
  EXPECT_EQ(steps.current(), 1);
}

// wait, optimizer, step() | wait, optimizer, step() | …
TEST(StepCounterTest, TheUserGoesBeforeAll) {
  StepCounter steps;
  for (int step = 1; step <= 5; ++step) {
    steps.signal(StepMarker::kLoader);
    steps.signal(StepMarker::kOptimizer);
    EXPECT_EQ(steps.current(), step);
    EXPECT_TRUE(steps.signal(StepMarker::kUser));
    EXPECT_EQ(steps.current(), step + 1);
  }
  EXPECT_EQ(steps.completed(), 5);
}

}  // namespace
}  // namespace stepscope

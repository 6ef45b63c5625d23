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

TEST(StepCounterTest, SeveralBatchesOfAnUpdateAreOneStep) {
  StepCounter steps;
  for (int wait = 1; wait <= 4; ++wait) {
    steps.signal(StepMarker::kLoader);
    EXPECT_EQ(steps.current(), wait) << "no optimizer is known yet";
  }
  EXPECT_FALSE(steps.signal(StepMarker::kOptimizer)) << "no step begins in the middle of one";
  EXPECT_EQ(steps.current(), 1) << "they were the batches of one step";
  for (int update = 2; update <= 5; ++update) {
    EXPECT_TRUE(steps.signal(StepMarker::kLoader));
    for (int batch = 2; batch <= 4; ++batch)
      EXPECT_FALSE(steps.signal(StepMarker::kLoader)) << "batch " << batch << " of one update";
    steps.signal(StepMarker::kOptimizer);
    EXPECT_EQ(steps.current(), update);
  }
}

// A trainer that fetches the next batch first: wait, wait, optimizer, wait, optimizer, …, end,
// optimizer.
TEST(StepCounterTest, TheWaitThatFoundTheEndBeginsTheStepOfABatchFetchedAhead) {
  StepCounter steps;
  steps.signal(StepMarker::kLoader);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int batch = 1; batch <= 3; ++batch) {
      steps.signal(StepMarker::kLoader);
      if (batch == 3) steps.loader_exhausted();
      steps.signal(StepMarker::kOptimizer);
      EXPECT_EQ(steps.current(), 3 * epoch + batch);
    }
    steps.signal(StepMarker::kLoader);
    EXPECT_EQ(steps.current(), 3 * epoch + 4);
  }
}

TEST(StepCounterTest, AnEpochThatEndsWithAnUpdateBeginsNoStepAtItsEnd) {
  StepCounter steps;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int batch = 1; batch <= 4; ++batch) {
      steps.signal(StepMarker::kLoader);
      if (batch % 2 == 0) steps.signal(StepMarker::kOptimizer);
    }
    EXPECT_EQ(steps.current(), 2 * epoch + 2);
    steps.signal(StepMarker::kLoader);
    steps.loader_exhausted();
    EXPECT_EQ(steps.completed(), 2 * epoch + 2);
  }
}

TEST(StepCounterTest, AnEvaluationBelongsToTheStepBeforeIt) {
  StepCounter steps;
  steps.signal(StepMarker::kLoader);
  steps.signal(StepMarker::kOptimizer);
  EXPECT_TRUE(steps.signal(StepMarker::kLoader));
  for (int wait = 2; wait <= 64; ++wait) EXPECT_FALSE(steps.signal(StepMarker::kLoader));
  EXPECT_FALSE(steps.is_in_long_evaluation());
  EXPECT_FALSE(steps.signal(StepMarker::kLoader));
  EXPECT_TRUE(steps.is_in_long_evaluation()) << "ops may begin or end there";
  EXPECT_EQ(steps.current(), 2);
}

TEST(StepCounterTest, InferenceIsNoEvaluation) {
  StepCounter steps;
  for (int wait = 1; wait <= 100; ++wait) {
    steps.signal(StepMarker::kLoader);
    EXPECT_EQ(steps.current(), wait);
    EXPECT_FALSE(steps.is_in_long_evaluation());
  }
}

}  // namespace
}  // namespace stepscope

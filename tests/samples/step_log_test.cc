#include "samples/cpp/step_log.h"

#include <gtest/gtest.h>

#include <chrono>

namespace samples {
namespace {

using std::chrono::milliseconds;

// Three steps: 1 ms of 10, 2 of 20 and 3 of 30 are waits.
StepLog three_steps() {
  StepLog log;
  StepLog::Clock::time_point now;
  log.restart(now);
  for (int i = 1; i <= 3; ++i) {
    log.batch_arrived(now + milliseconds(i));
    now += milliseconds(10 * i);
    log.step_ended(now);
  }
  return log;
}

TEST(StepLog, AveragesTheStepsAskedFor) {
  const StepLog::Mean mean = three_steps().mean(2, 3);
  EXPECT_EQ(mean.steps, 2U);
  EXPECT_DOUBLE_EQ(mean.step_ms, 25);
  EXPECT_DOUBLE_EQ(mean.input_ms, 2.5);
  EXPECT_DOUBLE_EQ(mean.input_share(), 0.1);
}

TEST(StepLog, AveragesTheStepsThereAre) {
  EXPECT_EQ(three_steps().mean(3, 100).steps, 1U);
  EXPECT_DOUBLE_EQ(three_steps().mean(3, 100).step_ms, 30);
  EXPECT_EQ(three_steps().mean(4, 9).steps, 0U);
  EXPECT_DOUBLE_EQ(three_steps().mean(4, 9).input_share(), 0);
}

TEST(StepLog, SaysWhatAShareOfTheStepsTookAtMost) {
  EXPECT_DOUBLE_EQ(three_steps().percentile_ms(0.5), 20);
  EXPECT_DOUBLE_EQ(three_steps().percentile_ms(0.99), 30);
  EXPECT_DOUBLE_EQ(three_steps().percentile_ms(0), 10);
  EXPECT_DOUBLE_EQ(StepLog().percentile_ms(0.5), 0);
}

TEST(StepLog, LeavesOutWhatARestartSkips) {
  StepLog log;
  StepLog::Clock::time_point now;
  log.restart(now + milliseconds(50));
  log.batch_arrived(now + milliseconds(51));
  log.step_ended(now + milliseconds(60));
  EXPECT_DOUBLE_EQ(log.mean(1, 1).step_ms, 10);
  EXPECT_DOUBLE_EQ(log.mean(1, 1).input_ms, 1);
}

}  // namespace
}  // namespace samples

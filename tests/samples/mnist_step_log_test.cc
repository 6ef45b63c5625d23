#include <gtest/gtest.h>

#include <chrono>

#include "samples/cpp/mnist/step_log.h"

namespace mnist {
namespace {

using std::chrono::milliseconds;

TEST(StepLog, AveragesTheStepsAskedFor) {
  StepLog log;
  for (int i = 1; i <= 5; ++i) log.step_ended(milliseconds(i));
  EXPECT_DOUBLE_EQ(log.mean(2, 4).input_ms, 3);
  EXPECT_EQ(log.mean(2, 4).steps, 3U);
  EXPECT_DOUBLE_EQ(log.mean(4, 100).input_ms, 4.5);
  EXPECT_EQ(log.mean(6, 9).steps, 0U);
  EXPECT_DOUBLE_EQ(log.mean(6, 9).input_share(), 0);
}

TEST(StepLog, StepsTileTheTime) {
  const auto before = StepLog::Clock::now();
  StepLog log;
  for (int i = 0; i < 100; ++i) log.step_ended(milliseconds(0));
  const std::chrono::duration<double, std::milli> all = StepLog::Clock::now() - before;
  EXPECT_LE(log.mean(1, 100).step_ms * 100, all.count());
}

}  // namespace
}  // namespace mnist

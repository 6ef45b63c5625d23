// Live metrics from the first step to the end of a recording, without a program.
#include "metrics/live_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/store/testing/growing_run.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MetricsPlan plan_on_any_port() {
  MetricsPlan plan;
  plan.listen = ListenAddress{"127.0.0.1", 0};
  plan.identity = {"", "run", "node"};
  plan.interval = std::chrono::milliseconds(200);
  return plan;
}

TEST(LiveMetricsTest, EndsAtOnceWhereNothingWasRecorded) {
  std::vector<std::string> problems;
  const auto metrics = LiveMetrics::open(plan_on_any_port(), problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_TRUE(metrics->start().ok());
  EXPECT_GT(metrics->address()->port, 0);
  EXPECT_THAT(metrics->finish(), IsEmpty());
}

TEST(LiveMetricsTest, EndsWithoutEverHavingStarted) {
  std::vector<std::string> problems;
  EXPECT_NE(LiveMetrics::open(plan_on_any_port(), problems), nullptr);
}

TEST(LiveMetricsTest, ATakenPortIsOneLineAndNoMetrics) {
  std::vector<std::string> problems;
  const auto first = LiveMetrics::open(plan_on_any_port(), problems);
  MetricsPlan plan = plan_on_any_port();
  plan.listen = first->address();
  EXPECT_EQ(LiveMetrics::open(plan, problems), nullptr);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("--metrics 0")));
}

TEST(LiveMetricsTest, AStoreThatIsNoneIsReported) {
  const TempDir dir;
  std::vector<std::string> problems;
  const auto metrics = LiveMetrics::open(plan_on_any_port(), problems);
  ASSERT_TRUE(metrics->start().ok());
  metrics->follow(dir / "none.db");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_THAT(metrics->finish(), ElementsAre(HasSubstr("none.db")));
}

TEST(LiveMetricsTest, ADeadCollectorIsOneLineAtTheEnd) {
  const TempDir dir;
  GrowingRun recording(dir / "run.db");
  recording.steps(10, Duration(1'000'000), Duration(3'000'000));
  MetricsPlan plan = plan_on_any_port();
  plan.listen.reset();
  plan.otlp.emplace();
  plan.otlp->url = "http://127.0.0.1:1/v1/metrics";
  std::vector<std::string> problems;
  const auto metrics = LiveMetrics::open(plan, problems);
  if (metrics == nullptr) GTEST_SKIP() << "no libcurl: " << problems.at(0);
  ASSERT_TRUE(metrics->start().ok());
  metrics->follow(dir / "run.db");
  EXPECT_THAT(metrics->finish(), ElementsAre(HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace stepscope::testing

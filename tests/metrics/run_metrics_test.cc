// The metrics of a run whose steps are known: 1 ms of input and 3 ms of work each.
#include "metrics/run_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "store/counters.h"
#include "tests/store/testing/growing_run.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr Duration kMs{1'000'000};

class RunMetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    recording_ = std::make_unique<GrowingRun>(store_);
    live_ = *LiveRun::open(store_);
  }
  void refresh() {
    const auto frame = live_->refresh();
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    metrics_ = run_metrics_.update(**frame, 1000);
  }
  [[nodiscard]] std::vector<MetricPoint> points(const std::string& name) const {
    for (const MetricFamily& family : metrics_) {
      if (family.name == name) return family.points;
    }
    ADD_FAILURE() << "there is no metric " << name;
    return {};
  }
  // Of the only point, or of the only one with this label.
  [[nodiscard]] double value(const std::string& name, const std::string& label = "",
                             const std::string& text = "") const {
    std::vector<MetricPoint> all = points(name);
    std::erase_if(all, [&](const MetricPoint& point) {
      return !label.empty() && std::find(point.labels.begin(), point.labels.end(),
                                         std::pair(label, text)) == point.labels.end();
    });
    EXPECT_EQ(all.size(), 1U) << name << " " << text;
    return all.empty() ? -1 : all[0].value;
  }

  const TempDir dir_;
  const std::filesystem::path store_ = dir_ / "run.db";
  std::unique_ptr<GrowingRun> recording_;
  std::unique_ptr<LiveRun> live_;
  RunMetrics run_metrics_{{"4711", "4711", "node"}, "1.2.3"};
  Metrics metrics_;
};

TEST_F(RunMetricsTest, ThereIsNoLoopBeforeTheFirstStep) {
  refresh();
  EXPECT_THAT(points("stepscope_steps"), IsEmpty());
  EXPECT_EQ(value("stepscope_run", "stepscope_version", "1.2.3"), 1);
  EXPECT_EQ(value("stepscope_ops"), 0);
}

// The window of the gauges has steps of both kinds.
TEST_F(RunMetricsTest, CountersFollowASuddenChange) {
  recording_->steps(40, kMs, 3 * kMs);
  refresh();
  const double before = value("stepscope_input_wait_seconds");
  EXPECT_NEAR(before, 39 * 1e-3, 1e-9);
  recording_->steps(20, 3 * kMs, kMs);
  refresh();
  // The last step of the first kind, and all but the last of the second.
  EXPECT_NEAR(value("stepscope_input_wait_seconds") - before, 1e-3 + 19 * 3e-3, 1e-4);
}

TEST_F(RunMetricsTest, CountersAreTheSumOfAllStepsThatEnded) {
  double steps = 0;
  for (int i = 0; i < 5; ++i) {
    recording_->steps(10, kMs, 3 * kMs);
    refresh();
    EXPECT_GT(value("stepscope_steps"), steps);
    steps = value("stepscope_steps");
  }
  EXPECT_EQ(steps, 49);  // the end of the last is known only by the next wait's
  EXPECT_NEAR(value("stepscope_step_time_seconds"), 49 * 4e-3, 1e-9);
  EXPECT_NEAR(value("stepscope_input_wait_seconds"), 49 * 1e-3, 1e-9);
  EXPECT_NEAR(value("stepscope_category_seconds", "category", "input"), 49 * 1e-3, 1e-9);
}

TEST_F(RunMetricsTest, CategoriesAndPhasesSumToTheStepTime) {
  recording_->steps(20, kMs, 3 * kMs);
  refresh();
  recording_->steps(20, 5 * kMs, 3 * kMs);
  refresh();
  for (const char* name : {"stepscope_category_seconds", "stepscope_phase_seconds"}) {
    double sum = 0;
    for (const MetricPoint& point : points(name)) sum += point.value;
    EXPECT_NEAR(sum, value("stepscope_step_time_seconds"), 1e-9) << name;
  }
}

TEST_F(RunMetricsTest, NothingIsCountedTwice) {
  recording_->steps(10, kMs, 3 * kMs);
  refresh();
  const double before = value("stepscope_step_time_seconds");
  refresh();
  EXPECT_EQ(value("stepscope_step_time_seconds"), before);
}

// The live view keeps the latest 4,096 steps of a loop.
TEST_F(RunMetricsTest, StepsBetweenTwoUpdatesMayBeMoreThanAreKept) {
  recording_->steps(10, kMs, 3 * kMs);
  refresh();
  const double steps = value("stepscope_steps"), time = value("stepscope_step_time_seconds");
  recording_->steps(6000, kMs, 3 * kMs);
  refresh();
  EXPECT_EQ(value("stepscope_steps"), steps + 6000);
  EXPECT_NEAR(value("stepscope_step_time_seconds"), time + 6000 * 4e-3, 1e-3);
}

TEST_F(RunMetricsTest, GaugesAreOfTheLatestSteps) {
  recording_->steps(40, kMs, 3 * kMs);
  refresh();
  EXPECT_NEAR(value("stepscope_step_seconds"), 4e-3, 1e-9);
  EXPECT_NEAR(value("stepscope_step_p50_seconds"), 4e-3, 1e-9);
  EXPECT_NEAR(value("stepscope_step_max_seconds"), 4e-3, 1e-9);
  EXPECT_NEAR(value("stepscope_input_ratio"), 0.25, 1e-9);
  EXPECT_EQ(value("stepscope_verdict", "kind", "input-bound"), 1);
  EXPECT_GT(value("stepscope_window_steps"), 30);
}

TEST_F(RunMetricsTest, MemoryAndLossesAreThere) {
  recording_->steps(10, kMs, 3 * kMs);
  recording_->sample(counter::kRss, 12'345);
  recording_->lose(3);
  refresh();
  EXPECT_EQ(value("stepscope_resident_memory_bytes"), 12'345);
  EXPECT_EQ(value("stepscope_lost_events"), 3);
}

TEST_F(RunMetricsTest, ARecordingThatStoppedSaysSo) {
  recording_->steps(10, kMs, 3 * kMs);
  refresh();
  EXPECT_EQ(value("stepscope_recording_stopped"), 0);
  recording_->stop("the disk is full");
  refresh();
  EXPECT_EQ(value("stepscope_recording_stopped"), 1);
}

TEST_F(RunMetricsTest, EveryPointSaysWhoseItIs) {
  recording_->steps(10, kMs, 3 * kMs);
  recording_->sample(counter::kRss, 12'345);
  refresh();
  std::set<std::pair<std::string, Labels>> seen;
  for (const MetricFamily& family : metrics_) {
    EXPECT_TRUE(family.unit.empty() || family.name.ends_with("_" + family.unit)) << family.name;
    for (const MetricPoint& point : family.points) {
      EXPECT_THAT(point.labels, Contains(Pair("job", "4711"))) << family.name;
      EXPECT_THAT(point.labels, Contains(Pair("host", "node"))) << family.name;
      EXPECT_TRUE(seen.emplace(family.name, point.labels).second) << family.name;
    }
  }
  EXPECT_THAT(points("stepscope_steps")[0].labels, Contains(Pair("pid", Not(IsEmpty()))));
}

TEST(RunMetricsOfDevices, HaveALoopForEach) {
  const TempDir dir;
  make_store(dir / "run.db", {.steps = 60, .rank = 3, .device = true});
  const auto live = *LiveRun::open(dir / "run.db");
  RunMetrics run_metrics({"", "run", "node"}, "1");
  const Metrics metrics = run_metrics.update(**live->refresh(), 0);
  for (const MetricFamily& family : metrics) {
    if (family.name != "stepscope_device_busy_ratio") continue;
    ASSERT_EQ(family.points.size(), 1U);
    EXPECT_THAT(family.points[0].labels, Contains(Pair("device", "0")));
    EXPECT_THAT(family.points[0].labels, Contains(Pair("rank", "3")));
    EXPECT_GT(family.points[0].value, 0);
    EXPECT_LT(family.points[0].value, 1);
  }
}

}  // namespace
}  // namespace stepscope::testing

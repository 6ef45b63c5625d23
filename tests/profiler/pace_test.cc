#include "profiler/recorder/pace.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

TEST(CollectPeriod, IsLongWhereNothingHappens) {
  EXPECT_EQ(collect_period(0, 10ms, 10ms), kIdleDrainPeriod);
  EXPECT_EQ(collect_period(0.001, 10ms, 10ms), kIdleDrainPeriod);
  EXPECT_EQ(collect_period(0.02, 10ms, 10ms), kDrainPeriod) << "ops are being recorded";
}

TEST(CollectPeriod, LetsAQuarterOfARingFill) {
  EXPECT_EQ(collect_period(0.5, 8ms, 8ms), 4ms);
  EXPECT_EQ(collect_period(0.25, 4ms, 4ms), 4ms);
  EXPECT_EQ(collect_period(0.125, 4ms, 4ms), 8ms);
}

TEST(CollectPeriod, AllowsForALateWakeUp) {
  EXPECT_EQ(collect_period(0.25, 7ms, 4ms), 4ms) << "7 ms until a quarter is full, and 3 ms late";
  EXPECT_EQ(collect_period(0.25, 30ms, 4ms), 4ms);
}

TEST(CollectPeriod, StaysWithinItsBounds) {
  EXPECT_EQ(collect_period(1, 1ms, 1ms), kBusyDrainPeriod);
  EXPECT_EQ(collect_period(1, 60ms, 1ms), kBusyDrainPeriod) << "later than a quarter lasts";
  EXPECT_EQ(collect_period(1e-9, 10s, 1ms), kIdleDrainPeriod);
  EXPECT_EQ(collect_period(0.5, 0ms, 10ms), kBusyDrainPeriod) << "sooner than planned";
}

// Ten rates, each with a wake-up that is always as late as before: never more than a quarter of a
// ring is full, unless even the shortest period is too long.
TEST(CollectPeriod, SettlesAtAQuarterOfARing) {
  for (int i = 1; i <= 10; ++i) {
    const double full_per_ms = 0.01 * i;
    const std::chrono::nanoseconds late = 2ms;
    std::chrono::nanoseconds planned = kDrainPeriod;
    double full = 0;
    for (int visit = 0; visit < 10; ++visit) {
      const std::chrono::nanoseconds took = planned + late;
      full = full_per_ms * std::chrono::duration<double, std::milli>(took).count();
      planned = collect_period(full, took, planned);
    }
    const double at_shortest = 3 * full_per_ms;
    EXPECT_LE(full, std::max(0.25, at_shortest) + 0.001) << full_per_ms;
  }
}

TEST(LookPeriod, IsLongWhereACollectorEmptiesTheRings) {
  EXPECT_EQ(look_period(/*busy=*/false, /*collected=*/true), kLookPeriod);
  EXPECT_EQ(look_period(/*busy=*/false, /*collected=*/false), kDrainPeriod);
  EXPECT_EQ(look_period(/*busy=*/true, /*collected=*/true), kBusyDrainPeriod);
}

}  // namespace
}  // namespace stepscope

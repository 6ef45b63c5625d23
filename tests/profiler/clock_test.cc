#include "profiler/ring/clock.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope {
namespace {

ClockReading reading(std::uint64_t ticks, std::int64_t ns) { return {Ticks{ticks}, ns}; }

// 3 ticks a ns, session time 0 at tick 1,000,000.
ClockMap three_gigahertz() { return {reading(1'000'000, 5'000), reading(4'000'000, 1'005'000)}; }

TEST(ClockMapTest, MeetsItsFirstReadingsToANanosecond) {
  const ClockMap clock = three_gigahertz();
  EXPECT_EQ(to_ns(clock.to_session(Ticks{1'000'000})), 0);
  EXPECT_NEAR(static_cast<double>(to_ns(clock.to_session(Ticks{4'000'000}))), 1e6, 1.0);
  EXPECT_EQ(clock.monotonic_start_ns(), 5'000);
}

TEST(ClockMapTest, TicksBeforeTheSessionAreNegativeTimes) {
  EXPECT_EQ(to_ns(three_gigahertz().to_session(Ticks{1'000'000 - 300})), -100);
}

TEST(ClockMapTest, ATickKeepsItsTimeWhateverIsLearntLater) {
  ClockMap clock = three_gigahertz();
  const SessionTime before = clock.to_session(Ticks{900'000'000});
  clock.recalibrate(reading(1'000'000'000, 400'000'000));  // far off
  EXPECT_EQ(clock.to_session(Ticks{900'000'000}), before);
}

TEST(ClockMapTest, RecalibrationMakesNoJump) {
  ClockMap clock = three_gigahertz();
  const std::uint64_t bend = 3'000'000'000;
  clock.recalibrate(reading(bend, 1'002'000'000));  // 2 ms ahead of the first rate
  const auto before = to_ns(clock.to_session(Ticks{bend - 3}));
  const auto after = to_ns(clock.to_session(Ticks{bend + 3}));
  EXPECT_GE(after - before, 1);
  EXPECT_LE(after - before, 3);
}

TEST(ClockMapTest, IgnoresReadingsThatGoBack) {
  ClockMap clock = three_gigahertz();
  clock.recalibrate(reading(3'000'000'000, 1'000'000'000));
  const SessionTime then = clock.to_session(Ticks{6'000'000'000});
  clock.recalibrate(reading(2'000'000'000, 2'000'000'000));
  clock.recalibrate(reading(3'000'000'000, 1'000'000'000));
  EXPECT_EQ(clock.to_session(Ticks{6'000'000'000}), then);
}

// A first rate that is 40 ppm off, and readings with 50 ns of noise: the map must come back to
// CLOCK_MONOTONIC, and never turn two ticks round.
TEST(ClockMapTest, FollowsTheMonotonicClock) {
  constexpr double kTicksPerNs = 2.6;
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> noise(-50, 50);
  const auto truth = [](std::int64_t ns) {
    return static_cast<std::uint64_t>(static_cast<double>(ns) * kTicksPerNs);
  };

  ClockMap clock(reading(0, 0), reading(truth(2'000'000), 2'000'080));
  for (std::int64_t second = 1; second <= 60; ++second) {
    const std::int64_t ns = second * 1'000'000'000;
    clock.recalibrate(reading(truth(ns), ns + noise(random)));
  }
  const std::int64_t late = 60'500'000'000;
  EXPECT_NEAR(static_cast<double>(to_ns(clock.to_session(Ticks{truth(late)}))),
              static_cast<double>(late), 500.0);

  SessionTime last = clock.to_session(Ticks{0});
  for (std::uint64_t tick = 1'000'000; tick < truth(61'000'000'000); tick += 10'000'019) {
    const SessionTime now = clock.to_session(Ticks{tick});
    ASSERT_GT(now, last) << "at tick " << tick;
    last = now;
  }
}

TEST(ClockTest, ReadsBothClocksTogether) {
  const ClockReading a = read_clocks();
  const ClockReading b = read_clocks();
  EXPECT_GT(to_count(b.ticks), to_count(a.ticks));
  EXPECT_GE(b.monotonic_ns, a.monotonic_ns);
}

}  // namespace
}  // namespace stepscope

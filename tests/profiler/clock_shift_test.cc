#include "profiler/channel/clock_shift.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

namespace stepscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClockShiftTest, OneClockIsNotShifted) {
  const ClockShift shift = clock_shift(500 * kSecond, 499 * kSecond, 0);
  EXPECT_EQ(shift.ns, 0) << "the second is how long the reading was on its way";
  EXPECT_TRUE(shift.exact);
}

TEST(ClockShiftTest, ANamespaceSaysItExactly) {
  const ClockShift ahead = clock_shift(500 * kSecond, 10'499 * kSecond, -10'000 * kSecond);
  EXPECT_EQ(ahead.ns, -10'000 * kSecond);
  EXPECT_TRUE(ahead.exact);
}

TEST(ClockShiftTest, AFakedClockIsGuessedAndSaidToBe) {
  const ClockShift ahead = clock_shift(500 * kSecond, 10'500 * kSecond, 0);
  EXPECT_EQ(ahead.ns, -10'000 * kSecond);
  EXPECT_FALSE(ahead.exact);
  const ClockShift behind = clock_shift(500 * kSecond, 400 * kSecond, 0);
  EXPECT_EQ(behind.ns, 100 * kSecond);
  EXPECT_FALSE(behind.exact) << "no program waits so long for its recorder";
}

TEST(ClockShiftTest, AReadingThatIsNonsenseIsNotUsed) {
  for (const std::int64_t nonsense : {INT64_MIN, INT64_MIN + 1}) {
    const ClockShift shift = clock_shift(500 * kSecond, nonsense, 0);
    EXPECT_EQ(shift.ns, 0);
    EXPECT_FALSE(shift.exact);
  }
  EXPECT_FALSE(clock_shift(500 * kSecond, INT64_MAX, 2 * kSecond).exact);
}

TEST(ClockShiftTest, TheOffsetOfANamespace) {
  EXPECT_EQ(monotonic_offset_ns("monotonic           0         0"), 0);
  EXPECT_EQ(monotonic_offset_ns("monotonic      100000         5"), 100'000 * kSecond + 5);
  EXPECT_EQ(monotonic_offset_ns("monotonic          -1         0"), -kSecond);
  EXPECT_EQ(monotonic_offset_ns("boottime           7         0"), 0);
  EXPECT_EQ(monotonic_offset_ns("monotonic 9223372036854775807 0"), 0);
  EXPECT_EQ(monotonic_offset_ns(""), 0);
  EXPECT_EQ(namespace_shift_ns(getpid()), 0);
}

}  // namespace
}  // namespace stepscope

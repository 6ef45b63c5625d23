#include "store/merge_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TimeRange range(std::int64_t start, std::int64_t end) {
  return {session_time(start), session_time(end)};
}

TEST(MergeRanges, JoinsThoseThatOverlapOrTouch) {
  EXPECT_THAT(merge_ranges({range(0, 10), range(5, 20), range(20, 30), range(40, 50)}),
              ElementsAre(range(0, 30), range(40, 50)));
}

TEST(MergeRanges, TakesThemInAnyOrder) {
  EXPECT_THAT(merge_ranges({range(40, 50), range(0, 100), range(120, 130), range(10, 20)}),
              ElementsAre(range(0, 100), range(120, 130)));
}

TEST(MergeRanges, LeavesOutThoseOfNoLength) {
  EXPECT_THAT(merge_ranges({range(5, 5), range(9, 3)}), IsEmpty());
}

TEST(Covered, CountsEachInstantOfTheSpanOnce) {
  const auto merged = merge_ranges({range(0, 10), range(20, 30), range(25, 40)});
  EXPECT_EQ(to_ns(covered(merged, range(5, 25))), 5 + 5);
  EXPECT_EQ(to_ns(covered(merged, range(-100, 100))), 30);
  EXPECT_EQ(to_ns(covered(merged, range(10, 20))), 0);
  EXPECT_EQ(to_ns(covered(merged, range(50, 60))), 0);
}

}  // namespace
}  // namespace stepscope::testing

#include "viewer-export/slice_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

using ::testing::ElementsAre;

// The op's name is its number, so that a test can tell what came out.
OpSlice slice(std::uint32_t id, std::int64_t start, std::int64_t end, std::uint8_t depth) {
  OpSlice slice;
  slice.op.name = static_cast<StringId>(id);
  slice.op.start = session_time(start);
  slice.op.dur = Duration(end - start);
  slice.op.depth = depth;
  return slice;
}

class Ordered {
  auto collect() {
    return [this](const OpSlice& s) { ids_.push_back(static_cast<std::uint32_t>(s.op.name)); };
  }

 public:
  bool add(const OpSlice& slice) {
    if (!order_.takes(slice.op)) return false;
    order_.add(slice, collect());
    return true;
  }
  std::vector<std::uint32_t> finish() {
    order_.finish(collect());
    return ids_;
  }
  SliceOrder& order() { return order_; }
  [[nodiscard]] const std::vector<std::uint32_t>& so_far() const { return ids_; }

 private:
  SliceOrder order_;
  std::vector<std::uint32_t> ids_;
};

TEST(SliceOrder, AParentComesBeforeAChildThatStartsWithIt) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(3, 10, 12, 2)));
  ASSERT_TRUE(ordered.add(slice(2, 10, 15, 1)));
  ASSERT_TRUE(ordered.add(slice(1, 10, 20, 0)));
  EXPECT_THAT(ordered.so_far(), ElementsAre(1, 2, 3));  // nothing waits once the root is here
}

TEST(SliceOrder, OnlyFirstChildrenWait) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(1, 10, 12, 1)));
  for (std::uint32_t i = 2; i < 1000; ++i)
    ASSERT_TRUE(ordered.add(slice(i, 10 * i, 10 * i + 5, 1)));
  EXPECT_EQ(ordered.order().held(), 1u);
  EXPECT_EQ(ordered.so_far().size(), 998u);
}

TEST(SliceOrder, AnOpWithoutALengthGoesBeforeItsSiblingAndAfterItsParent) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(2, 10, 10, 1)));
  ASSERT_TRUE(ordered.add(slice(4, 10, 12, 2)));
  ASSERT_TRUE(ordered.add(slice(3, 10, 13, 1)));
  ASSERT_TRUE(ordered.add(slice(1, 10, 20, 0)));
  EXPECT_THAT(ordered.so_far(), ElementsAre(1, 2, 3, 4));
}

TEST(SliceOrder, AChildWhoseParentWasLostIsNotHeldForLong) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(1, 10, 12, 3)));
  ASSERT_TRUE(ordered.add(slice(2, 5, 20, 0)));
  EXPECT_THAT(ordered.so_far(), ElementsAre(1, 2));
}

TEST(SliceOrder, WhatStaysOpenComesOutAtTheEnd) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(2, 10, 12, 2)));
  ASSERT_TRUE(ordered.add(slice(1, 10, 15, 1)));
  EXPECT_TRUE(ordered.so_far().empty());
  EXPECT_THAT(ordered.finish(), ElementsAre(1, 2));
}

TEST(SliceOrder, RefusesWhatOverlaps) {
  Ordered ordered;
  ASSERT_TRUE(ordered.add(slice(1, 10, 20, 0)));
  EXPECT_FALSE(ordered.add(slice(2, 15, 30, 0)));  // starts inside its elder sibling
  ASSERT_TRUE(ordered.add(slice(3, 20, 25, 1)));
  EXPECT_FALSE(ordered.add(slice(4, 22, 30, 0)));  // starts inside its child
  EXPECT_FALSE(ordered.add(slice(5, 20, 24, 0)));  // ends before its child
  EXPECT_TRUE(ordered.add(slice(6, 20, 30, 0)));   // nothing of the refused was taken
  EXPECT_THAT(ordered.finish(), ElementsAre(1, 6, 3));
}

TEST(SliceOrder, ManyOpsWithoutALengthDoNotWaitWithoutABound) {
  Ordered ordered;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(ordered.add(slice(i, 10, 10, static_cast<std::uint8_t>(1 + i % 2))));
    ASSERT_LE(ordered.order().held(), SliceOrder::kMaxHeld);
  }
}

TEST(SliceOrder, EverDeeperOpsOfOneStartDoNotWaitWithoutABound) {
  Ordered ordered;
  constexpr std::uint32_t kDepth = 3 * SliceOrder::kMaxTied;
  std::uint32_t taken = 0;
  for (std::uint32_t i = kDepth; i-- > 0;) {
    const auto depth = static_cast<std::uint8_t>(std::min(i, 255u));
    if (ordered.add(slice(i, 10, 1'000'000 - i, depth))) ++taken;
    ASSERT_LE(ordered.order().held(), SliceOrder::kMaxTied);
  }
  EXPECT_EQ(taken, SliceOrder::kMaxTied);
  const auto ids = ordered.finish();
  EXPECT_EQ(ids.size(), SliceOrder::kMaxTied);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));  // parents first
}

TEST(SliceOrder, HeldSlicesAreFoundBySequenceNumber) {
  Ordered ordered;
  OpSlice first = slice(1, 10, 12, 1);
  first.op.sequence = 7;
  ASSERT_TRUE(ordered.add(first));
  EXPECT_EQ(ordered.order().find_held(session_time(10), 8), nullptr);
  EXPECT_EQ(ordered.order().find_held(session_time(11), 7), nullptr);
  ASSERT_NE(ordered.order().find_held(session_time(10), 7), nullptr);
  ordered.finish();
  EXPECT_EQ(ordered.order().find_held(session_time(10), 7), nullptr);
}

// A random tree of ops: children tile their parents at random, often sharing their starts, ends or
// both, often without a length.
class RandomTree {
 public:
  explicit RandomTree(std::uint32_t seed) : random_(seed) {
    std::int64_t at = 0;
    for (int i = 0; i < 20; ++i) at = grow(at, at + pick(40), 0) + pick(2);
  }
  // In the order of their ends.
  [[nodiscard]] const std::vector<OpSlice>& slices() const { return slices_; }

 private:
  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

  std::int64_t grow(std::int64_t start, std::int64_t end, int depth) {
    std::int64_t at = start + (pick(2) == 0 ? 0 : pick(3));
    while (depth < 300 && at <= end && pick(3) != 0) {
      const std::int64_t child_end = pick(3) == 0 ? at : at + pick(end - at + 1);
      at = grow(at, child_end, depth + 1) + (pick(2) == 0 ? 0 : pick(3));
    }
    const auto stored = static_cast<std::uint8_t>(std::min(depth, 255));
    slices_.push_back(slice(static_cast<std::uint32_t>(slices_.size()), start, end, stored));
    return end;
  }

  std::mt19937 random_;
  std::vector<OpSlice> slices_;
};

// What a viewer does: a stable sort by start, then a stack. The depth at which each op with a
// length is drawn, by its number; empty when one overlaps another.
std::vector<int> drawn_depths(const std::vector<OpSlice>& slices, std::vector<OpSlice> out) {
  std::ranges::stable_sort(out, {}, [](const OpSlice& s) { return s.op.start; });
  std::vector<int> depths(slices.size(), -1);
  std::vector<SessionTime> open;
  for (const OpSlice& s : out) {
    const SessionTime end = s.op.start + s.op.dur;
    while (!open.empty() && open.back() <= s.op.start) open.pop_back();
    if (!open.empty() && end > open.back()) return {};
    if (s.op.dur == Duration(0)) continue;
    depths[static_cast<std::size_t>(s.op.name)] = static_cast<int>(open.size());
    open.push_back(end);
  }
  return depths;
}

TEST(SliceOrder, AnyNestedOpsAreDrawnAtTheirTrueDepth) {
  std::size_t ties = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const RandomTree tree(seed);
    SliceOrder order;
    std::vector<OpSlice> out;
    const auto emit = [&out](const OpSlice& s) { out.push_back(s); };
    for (const OpSlice& s : tree.slices()) {
      ASSERT_TRUE(order.takes(s.op)) << "seed " << seed;
      order.add(s, emit);
    }
    order.finish(emit);
    ASSERT_EQ(out.size(), tree.slices().size());
    const std::vector<int> depths = drawn_depths(tree.slices(), out);
    ASSERT_EQ(depths.size(), tree.slices().size()) << "overlap, seed " << seed;
    for (const OpSlice& s : tree.slices()) {
      if (s.op.dur == Duration(0)) continue;
      const auto id = static_cast<std::size_t>(s.op.name);
      ASSERT_EQ(depths[id], s.op.depth) << "op " << id << ", seed " << seed;
      ties += s.op.depth > 0;
    }
  }
  EXPECT_GT(ties, 10'000u);  // the generator makes what this test is about
}

TEST(SliceOrder, DepthsBeyondWhatIsStoredStillNest) {
  Ordered ordered;
  constexpr std::uint32_t kDepth = 400;
  for (std::uint32_t i = kDepth; i-- > 0;) {
    const auto depth = static_cast<std::uint8_t>(std::min(i, 255u));
    ASSERT_TRUE(ordered.add(slice(i, 10, 5000 - i, depth))) << i;
  }
  const auto ids = ordered.finish();
  ASSERT_EQ(ids.size(), kDepth);
  EXPECT_TRUE(std::ranges::is_sorted(ids));
}

}  // namespace
}  // namespace stepscope

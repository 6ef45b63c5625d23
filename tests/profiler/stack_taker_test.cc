// When a thread takes its stack, and what comes out of the ring.
#include "profiler/ring/stack_taker.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/profiler/test_ring.h"

namespace stepscope {
namespace {

// A tick is a ns. Times are the test's; the stacks are real.
class StackTakerTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPeriod = 20'000'000;
  static constexpr std::uint64_t kMs = 1'000'000;

  StackTakerTest() {
    StackTaker::set_period(kPeriod, 1, Ticks{0});
    taker_.follow(Ticks{now_});
    taker_.pass(Ticks{now_}, 0);
  }
  ~StackTakerTest() override { StackTaker::set_period(0, 1, Ticks{0}); }

  // A stretch of `ns`, which begins at `place`, and the event at its end.
  void stretch(std::uint64_t ns, std::uint32_t place, bool wanted = true) {
    taker_.pass(Ticks{now_}, place);
    if (taker_.may_be_chosen(Ticks{now_})) taker_.begin_stretch();
    now_ += ns;
    if (taker_.stretch_counts(Ticks{now_})) taker_.end_stretch(Ticks{now_}, wanted, producer_);
    taker_.pass(Ticks{now_}, 0);
  }
  // Decoded often: the ring is small.
  void drain() {
    for (NativeStack& stack : reader_.decode().stacks) stacks_.push_back(std::move(stack));
  }

  TestRing ring_{8192};
  RingProducer producer_{ring_.header()};
  TestDecoder reader_{ring_.header(), Ticks{0}};
  StackTaker taker_;
  std::uint64_t now_ = 1'000'000'000;
  std::vector<NativeStack> stacks_;
};

TEST_F(StackTakerTest, LongStretchesAreChosenAsOftenAsTheyAreLong) {
  std::uint64_t of_long = 0;
  for (int step = 0; step < 4000; ++step) {
    stretch(3 * kMs, 1);
    for (int i = 0; i < 10; ++i) stretch(kMs / 10, 2);
    drain();
  }
  for (const NativeStack& stack : stacks_) {
    ASSERT_LE(stack.start, stack.due);
    ASSERT_LE(stack.due, stack.end);
    of_long += to_ns(stack.end - stack.start) == 3'000'000 ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(stacks_.size()), 4000 * 4.0 / 20, 20);
  EXPECT_NEAR(static_cast<double>(of_long) / static_cast<double>(stacks_.size()), 0.75, 0.05);
}

// Ops in one step of ten, and stacks in the same: as many a second as in every step.
TEST(StackTakerInSomeSteps, TakesMoreStacksInThem) {
  constexpr std::uint32_t kPeriod = 20'000'000;
  StackTaker::set_period(kPeriod, 10, Ticks{0});
  TestRing ring(8192);
  RingProducer producer(ring.header());
  TestDecoder reader(ring.header(), Ticks{0});
  StackTaker taker;
  std::uint64_t now = 1'000'000'000;
  taker.follow(Ticks{now});
  std::vector<NativeStack> stacks;
  for (int step = 0; step < 500; ++step) {
    taker.pass(Ticks{now}, 1);
    now += 1'000'000;
    if (taker.stretch_counts(Ticks{now})) taker.end_stretch(Ticks{now}, true, producer);
    for (NativeStack& stack : reader.decode().stacks) stacks.push_back(std::move(stack));
  }
  StackTaker::set_period(0, 1, Ticks{0});
  EXPECT_NEAR(static_cast<double>(stacks.size()), 500 / 2.0, 15);
  for (const NativeStack& stack : stacks) EXPECT_EQ(stack.period, Duration{2'000'000});
}

TEST_F(StackTakerTest, WhereALongStretchBeganTheNextIsAwaited) {
  for (int step = 0; step < 400; ++step) {
    stretch(5 * kMs, 1);
    for (int i = 0; i < 10; ++i) stretch(kMs / 100, 2);
    drain();
  }
  std::size_t with_begin = 0;
  for (const NativeStack& stack : stacks_) with_begin += stack.at_begin.empty() ? 0U : 1U;
  EXPECT_GE(with_begin, stacks_.size() * 8 / 10);
  EXPECT_GE(stacks_.size(), 80U);
}

// Each of many, whatever their numbers have in common.
TEST_F(StackTakerTest, ManyPlacesAreKnown) {
  constexpr std::uint32_t kPlaces = 40;
  std::array<bool, kPlaces> known{};
  for (int step = 0; step < 400; ++step) {
    for (std::uint32_t place = 0; place < kPlaces; ++place)
      stretch(kMs / 2, StackTaker::place_of(5, place));
    drain();
  }
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    for (const NativeStack& stack : stacks_) {
      if (stack.place == StackTaker::place_of(5, place) && !stack.at_begin.empty())
        known[place] = true;
    }
    EXPECT_TRUE(known[place]) << place;
  }
}

TEST_F(StackTakerTest, PhasesThatAreNotWantedHaveNoStacks) {
  for (int step = 0; step < 100; ++step) stretch(5 * kMs, 1, false);
  drain();
  EXPECT_TRUE(stacks_.empty());
}

TEST_F(StackTakerTest, NothingIsTakenWhileItIsOff) {
  StackTaker::set_period(0, 1, Ticks{0});
  for (int step = 0; step < 100; ++step) stretch(5 * kMs, 1);
  // A stretch that began before counts for neither.
  StackTaker::set_period(kPeriod, 1, Ticks{now_ + 1});
  stretch(100 * kMs, 1);
  drain();
  EXPECT_TRUE(stacks_.empty());
  stretch(100 * kMs, 1);
  drain();
  EXPECT_EQ(stacks_.size(), 1U);
}

TEST(StackSlots, WhatMakesNoSenseIsSkipped) {
  TestRing ring;
  RingProducer producer(ring.header());
  TestDecoder reader(ring.header(), Ticks{0});
  const auto put = [&](std::uint8_t end, std::uint8_t begin, std::uint64_t to) {
    Slot slot{};
    slot.stack = {SlotKind::kStack, end, begin, 0, 9, 100, to, 150};
    producer.slot(0) = slot;
    producer.publish(1);
  };
  put(0, 0, 200);                             // no frame
  put(255, 0, 200);                           // too many
  put(1, 0, 200 + (std::uint64_t{1} << 62));  // no time
  put(5, 5, 200);                             // runs on beyond the end
  EXPECT_TRUE(reader.decode().stacks.empty());
  EXPECT_EQ(reader.decoder().corrupt_slots(), 4);
  Slot good[2]{};
  good[0].stack = {SlotKind::kStack, 2, 1, 0, 9, 100, 200, 150};
  for (std::uint64_t i = 0; i < 3; ++i) good[1].addresses[i] = i + 7;
  for (int i = 0; i < 2; ++i) producer.slot(static_cast<std::uint64_t>(i)) = good[i];
  EXPECT_EQ(slots_of(good[0]), 2U);
  producer.publish(2);
  const auto stacks = reader.decode().stacks;
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_EQ(stacks[0].at_end, (std::vector<std::uint64_t>{7, 8}));
  EXPECT_EQ(stacks[0].at_begin, (std::vector<std::uint64_t>{9}));
}

}  // namespace
}  // namespace stepscope

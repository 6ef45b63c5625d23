#include "profiler/session/heartbeat_watch.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace stepscope {
namespace {

constexpr std::uint64_t kPatience = 100;

Ticks at(std::uint64_t count) { return Ticks{count}; }

TEST(HeartbeatWatchTest, ACountThatMovesIsAlive) {
  HeartbeatWatch watch;
  EXPECT_TRUE(watch.is_alive(1, at(1'000), kPatience));
  EXPECT_TRUE(watch.is_alive(2, at(5'000), kPatience)) << "nobody asked meanwhile";
  EXPECT_TRUE(watch.is_alive(2, at(5'099), kPatience));
}

TEST(HeartbeatWatchTest, ACountThatStandsStillIsGone) {
  HeartbeatWatch watch;
  EXPECT_TRUE(watch.is_alive(7, at(1'000), kPatience));
  EXPECT_FALSE(watch.is_alive(7, at(1'100), kPatience));
  EXPECT_TRUE(watch.is_alive(8, at(1'200), kPatience)) << "it was only stopped";
}

TEST(HeartbeatWatchTest, WhatTheClockSaysDoesNotMatter) {
  HeartbeatWatch watch;
  EXPECT_TRUE(watch.is_alive(1, at(UINT64_MAX - 50), kPatience));
  EXPECT_TRUE(watch.is_alive(1, at(20), kPatience)) << "71 ticks, through zero";
  EXPECT_FALSE(watch.is_alive(1, at(60), kPatience));
  EXPECT_TRUE(watch.is_alive(2, at(1'000), kPatience));
  EXPECT_TRUE(watch.is_alive(2, at(990), kPatience)) << "read before another thread saw the change";
}

TEST(HeartbeatWatchTest, OneThatSaysThatItLooksNoMoreIsGoneAtOnce) {
  HeartbeatWatch watch;
  EXPECT_TRUE(watch.is_alive(5, at(1'000), kPatience));
  EXPECT_FALSE(watch.is_alive(0, at(1'001), kPatience));
}

TEST(HeartbeatWatchTest, AnotherRecorderMayBeginWithTheSameCount) {
  HeartbeatWatch watch;
  EXPECT_TRUE(watch.is_alive(1, at(1'000), kPatience));
  watch.reset();
  EXPECT_TRUE(watch.is_alive(1, at(9'000), kPatience));
}

}  // namespace
}  // namespace stepscope

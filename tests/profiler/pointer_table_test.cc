#include "profiler/ring/pointer_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace stepscope {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class PointerTableTest : public ::testing::Test {
 protected:
  PointerTableTest() : memory_(std::calloc(1, sizeof(PointerTable))) {}
  PointerTable& table() { return *static_cast<PointerTable*>(memory_.get()); }
  static const void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }
  // By how much what is held has grown.
  std::int64_t insert(const void* pointer, std::uint64_t bytes) {
    HeldBlock before;
    if (!table().insert(pointer, {bytes}, before)) return 0;
    return static_cast<std::int64_t>(bytes - before.bytes);
  }
  std::int64_t erase(const void* pointer) {
    return static_cast<std::int64_t>(table().erase(pointer).bytes);
  }

 private:
  std::unique_ptr<void, Free> memory_;
};

TEST_F(PointerTableTest, WhatWasInsertedIsErasedOnce) {
  EXPECT_EQ(insert(address(0x1000), 64), 64);
  EXPECT_EQ(erase(address(0x1000)), 64);
  EXPECT_EQ(erase(address(0x1000)), 0);
}

TEST_F(PointerTableTest, AnUnseenFreeIsMadeUpForByTheNextOwner) {
  insert(address(0x1000), 100);
  EXPECT_EQ(insert(address(0x1000), 30), -70);
  EXPECT_EQ(erase(address(0x1000)), 30);
}

TEST_F(PointerTableTest, WhatMadeABlockIsKeptWithIt) {
  constexpr std::uint64_t kMax = (std::uint64_t{1} << 56) - 1;
  HeldBlock before{7, MemoryOwner::kInput};
  ASSERT_TRUE(table().insert(address(0x1000), {kMax, MemoryOwner::kOptimizer}, before));
  EXPECT_EQ(before.bytes, 0U);
  ASSERT_TRUE(table().insert(address(0x1000), {64, MemoryOwner::kBackward}, before));
  EXPECT_EQ(before.bytes, kMax);
  EXPECT_EQ(before.owner, MemoryOwner::kOptimizer);
  EXPECT_EQ(table().erase(address(0x1000)).owner, MemoryOwner::kBackward);
}

TEST_F(PointerTableTest, AFullLineIsNotCountedAtAll) {
  // Addresses of one line: what the higher bits add, the lower ones take away.
  const auto alike = [](std::uintptr_t i) { return address(i << 31 ^ i << 14); };
  std::int64_t held = 0;
  for (std::uintptr_t i = 1; i <= 40; ++i) held += insert(alike(i), 10);
  EXPECT_EQ(held, 40) << "of four";
  for (std::uintptr_t i = 1; i <= 40; ++i) held -= erase(alike(i));
  EXPECT_EQ(held, 0);
}

// Against a map, with addresses as a heap and mmap() give them.
TEST_F(PointerTableTest, HoldsWhatAMapHolds) {
  std::mt19937_64 random(7);
  std::unordered_map<std::uintptr_t, std::uint64_t> model;
  std::vector<std::uintptr_t> live;
  for (int i = 0; i < 200'000; ++i) {
    if (live.size() > 20'000 || (!live.empty() && random() % 3 == 0)) {
      std::swap(live[random() % live.size()], live.back());
      EXPECT_EQ(erase(address(live.back())), static_cast<std::int64_t>(model[live.back()]));
      model.erase(live.back());
      live.pop_back();
      continue;
    }
    const bool large = random() % 8 == 0;
    const std::uintptr_t pointer = large ? 0x7f0000000040 + (random() % 100'000 << 14)
                                         : 0x560000000000 + (random() % 100'000 << 14);
    const std::uint64_t bytes = 1 + random() % 100'000;
    if (!model.emplace(pointer, bytes).second) continue;
    EXPECT_EQ(insert(address(pointer), bytes), static_cast<std::int64_t>(bytes));
    live.push_back(pointer);
  }
}

// Threads race for the places of a line, and free what others allocated.
TEST_F(PointerTableTest, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr std::uintptr_t kEach = 20'000;
  std::vector<std::int64_t> held(kThreads);
  const auto on_all = [](const auto& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  };
  const auto pointer = [](int thread, std::uintptr_t i) {
    return reinterpret_cast<void*>((i * kThreads + static_cast<std::uintptr_t>(thread) + 4) << 12);
  };
  on_all([&](int thread) {
    for (std::uintptr_t i = 0; i < kEach; ++i) {
      held[static_cast<std::size_t>(thread)] += insert(pointer(thread, i), i + 1);
    }
  });
  on_all([&](int thread) {
    const int other = (thread + 1) % kThreads;
    for (std::uintptr_t i = 0; i < kEach; ++i) {
      held[static_cast<std::size_t>(thread)] -= erase(pointer(other, i));
    }
  });
  std::int64_t sum = 0;
  for (const std::int64_t each : held) sum += each;
  EXPECT_EQ(sum, 0);
}

}  // namespace
}  // namespace stepscope

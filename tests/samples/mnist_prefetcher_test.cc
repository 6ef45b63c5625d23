#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "samples/cpp/mnist/ordered_prefetcher.h"

namespace mnist {
namespace {

using Prefetcher = OrderedPrefetcher<std::size_t>;

std::vector<std::size_t> all_of(Prefetcher& prefetcher) {
  std::vector<std::size_t> items;
  while (const auto item = prefetcher.next()) items.push_back(*item);
  return items;
}

TEST(OrderedPrefetcher, KeepsTheOrderWithAnyNumberOfThreads) {
  std::vector<std::size_t> expected(500);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i * i;
  for (const std::size_t threads : {1U, 2U, 7U}) {
    Prefetcher prefetcher(expected.size(), threads, 2 * threads,
                          [](std::size_t i) { return i * i; });
    EXPECT_EQ(all_of(prefetcher), expected) << threads << " threads";
    EXPECT_EQ(prefetcher.next(), std::nullopt) << "also when asked again";
  }
}

TEST(OrderedPrefetcher, OfNothingIsEmpty) {
  Prefetcher prefetcher(0, 2, 4, [](std::size_t i) { return i; });
  EXPECT_EQ(prefetcher.next(), std::nullopt);
}

// Item 1 is done before item 0 may finish: only threads that work side by side get past this.
TEST(OrderedPrefetcher, MakesItemsAtTheSameTime) {
  std::latch second_done(1);
  Prefetcher prefetcher(2, 2, 2, [&](std::size_t i) {
    if (i == 0) second_done.wait();
    if (i == 1) second_done.count_down();
    return i;
  });
  EXPECT_EQ(all_of(prefetcher), (std::vector<std::size_t>{0, 1}));
}

TEST(OrderedPrefetcher, RunsAheadByItsCapacityAndNoFurther) {
  constexpr std::size_t kCapacity = 4;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t begun = 0;
  Prefetcher prefetcher(100, 3, kCapacity, [&](std::size_t i) {
    const std::lock_guard lock(mutex);
    ++begun;
    changed.notify_all();
    return i;
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return begun == kCapacity; });
  for (std::size_t taken = 0; taken < 20; ++taken) {
    // How far ahead exactly depends on whether a thread was still awake as an item was taken.
    changed.wait(lock, [&] { return begun > taken + kCapacity / 2; });
    lock.unlock();
    EXPECT_EQ(prefetcher.next(), taken);
    lock.lock();
    EXPECT_LE(begun, taken + 1 + kCapacity);
  }
}

TEST(OrderedPrefetcher, HandsOverWhatProducingThrew) {
  Prefetcher prefetcher(3, 1, 2, [](std::size_t i) {
    if (i == 1) throw std::runtime_error("no such image");
    return i;
  });
  EXPECT_EQ(prefetcher.next(), 0U);
  EXPECT_THROW(prefetcher.next(), std::runtime_error);
}

TEST(OrderedPrefetcher, CanBeLeftEarly) {
  std::atomic<std::size_t> made = 0;
  {
    Prefetcher prefetcher(1'000'000, 2, 4, [&](std::size_t i) {
      ++made;
      return i;
    });
    prefetcher.next();
  }
  EXPECT_LE(made, 1U + 4U);
}

}  // namespace
}  // namespace mnist

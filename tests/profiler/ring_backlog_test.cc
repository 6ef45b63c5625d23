#include "profiler/recorder/ring_backlog.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/recorder/other_cpus.h"
#include "profiler/recorder/ring_collector.h"
#include "profiler/ring/ring_registry.h"

namespace stepscope {
namespace {

constexpr std::uint64_t kAnyNumber = 1 << 30;

// A region with a ring of 4,096 slots, and ops that carry their number.
class RingBacklogTest : public testing::Test {
 protected:
  RingBacklogTest() : region_(map_private_region(lay_out_region(4096 * sizeof(Slot)), {})) {
    registry_.use(region_);
    recorder_ = registry_.add_current_thread();
  }
  ~RingBacklogTest() override {
    backlog_->close();
    registry_.close(recorder_);
    unmap_region(region_);
  }

  void write(int ops) {
    for (int i = 0; i < ops; ++i) {
      recorder_->start_op({this, "op", next_++, 0, OpScope::kFunction});
      recorder_->end_op(this);
    }
  }
  // The numbers of the ops that take() gives next.
  std::vector<std::uint32_t> take() {
    std::vector<Slot> slots;
    backlog_->take(0, slots);
    std::vector<std::uint32_t> numbers;
    for (const Slot& slot : slots) {
      if (slot.kind == SlotKind::kOp) numbers.push_back(slot.op.sequence);
    }
    return numbers;
  }
  // Takes everything, and expects the ops [first, next_) in order.
  void expect_all(std::int64_t first = 0) {
    std::int64_t expected = first;
    for (auto numbers = take(); !numbers.empty(); numbers = take()) {
      for (const std::uint32_t number : numbers) ASSERT_EQ(number, expected++);
    }
    EXPECT_EQ(expected, next_);
    EXPECT_EQ(region_.ring(0)->lost[0], 0U);
  }
  std::uint64_t in_ring() const { return RingConsumer(region_.ring(0)).published().size(); }

  Region region_;
  RingRegistry registry_;
  ThreadRecorder* recorder_ = nullptr;
  std::shared_ptr<RingBacklog> backlog_ = std::make_shared<RingBacklog>(region_);
  std::int64_t next_ = 0;
};

TEST_F(RingBacklogTest, GivesWhatIsInTheRing) {
  write(3);
  EXPECT_EQ(backlog_->size(0), 4U) << "the name and three ops";
  EXPECT_EQ(take(), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(backlog_->held(), 0U);
}

TEST_F(RingBacklogTest, CollectsWhatARingHasNoRoomFor) {
  for (int i = 0; i < 50; ++i) {
    write(3000);
    EXPECT_GE(backlog_->collect(kAnyNumber), 3000U);
    EXPECT_EQ(in_ring(), 0U);
  }
  EXPECT_EQ(backlog_->held(), 150'001U);
  write(10);
  EXPECT_EQ(backlog_->size(0), 150'011U);
  expect_all();
  EXPECT_EQ(backlog_->held(), 0U);
}

TEST_F(RingBacklogTest, WhatItMayNotHoldStaysInTheRing) {
  write(1000);
  backlog_->collect(1500);
  write(1000);
  EXPECT_EQ(backlog_->collect(1500), 1000U);
  EXPECT_EQ(in_ring(), 1000U);
  EXPECT_EQ(backlog_->held(), 1001U);
  expect_all();
}

TEST_F(RingBacklogTest, DiscardForgetsBoth) {
  write(10);
  backlog_->collect(kAnyNumber);
  write(10);
  backlog_->discard(0);
  EXPECT_EQ(backlog_->size(0), 0U);
  EXPECT_EQ(backlog_->held(), 0U);
  write(1);
  EXPECT_EQ(take(), std::vector<std::uint32_t>{20});
}

TEST_F(RingBacklogTest, OnceClosedItTouchesNothing) {
  write(10);
  backlog_->collect(kAnyNumber);
  backlog_->close();
  write(10);
  EXPECT_EQ(backlog_->collect(kAnyNumber), 0U);
  EXPECT_EQ(backlog_->size(0), 0U);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(in_ring(), 10U);
}

TEST_F(RingBacklogTest, AProgramThatHasGoneWildGivesNothing) {
  write(10);
  region_.ring(0)->head = 1ULL << 40;
  EXPECT_EQ(backlog_->collect(kAnyNumber), 0U);
  EXPECT_TRUE(take().empty());
  region_.header->ring_count = 1U << 31;
  EXPECT_EQ(backlog_->collect(kAnyNumber), 0U);
}

// Two threads empty the ring of a third; nothing is lost, and the order is kept.
TEST_F(RingBacklogTest, CollectorAndRecorderShareARing) {
  std::atomic<bool> stop{false};
  std::thread collector([&] {
    while (!stop) backlog_->collect(kAnyNumber);
  });
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < 200; ++i) {
    write(300);
    for (const std::uint32_t number : take()) taken.push_back(number);
  }
  stop = true;
  collector.join();
  for (auto numbers = take(); !numbers.empty(); numbers = take()) {
    taken.insert(taken.end(), numbers.begin(), numbers.end());
  }
  ASSERT_EQ(taken.size(), 60'000U);
  for (std::uint32_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i], i);
}

TEST_F(RingBacklogTest, ACollectorEmptiesTheRingByItself) {
  RingCollector collector;
  collector.add(backlog_);
  for (int i = 0; i < 5; ++i) {
    write(3000);
    while (in_ring() > 0) std::this_thread::yield();
  }
  expect_all();
}

// In a ring larger than a piece, a piece ends before a name, or after all of it.
TEST(LargeRingBacklog, NeverCutsANameInTwo) {
  const Region region = map_private_region(lay_out_region(sizeof(Slot) << 18), {});
  RingRegistry registry;
  registry.use(region);
  ThreadRecorder* recorder = registry.add_current_thread();
  RingBacklog backlog(region);
  for (int i = 0; i < 3000; ++i) {
    const std::string name(1000, static_cast<char>('a' + i % 26));
    recorder->start_op({&region, (name + std::to_string(i)).c_str(), -1, 0, OpScope::kFunction});
    recorder->end_op(&region);
  }
  std::vector<Slot> slots;
  std::uint64_t pieces = 0;
  std::uint32_t names = 0;
  for (backlog.take(0, slots); !slots.empty(); backlog.take(0, slots)) {
    ++pieces;
    std::size_t at = 0;
    while (at < slots.size()) {
      if (slots[at].kind == SlotKind::kName) {
        ASSERT_EQ(static_cast<std::uint32_t>(slots[at].name.name), ++names);
      }
      at += slots_of(slots[at]);
    }
    ASSERT_EQ(at, slots.size());
  }
  EXPECT_GT(pieces, 1U);
  EXPECT_EQ(names, 3000U);
  backlog.close();
  registry.close(recorder);
  unmap_region(region);
}

TEST_F(RingBacklogTest, KnowsWhoWroteSinceTheLastTime) {
  backlog_->collect(kAnyNumber);
  EXPECT_TRUE(backlog_->writers().empty());
  write(1);
  backlog_->collect(kAnyNumber);
  ASSERT_EQ(backlog_->writers().size(), 1U);
  EXPECT_EQ(backlog_->writers()[0].pid, getpid());
  EXPECT_EQ(backlog_->writers()[0].tid, gettid());
  backlog_->collect(kAnyNumber);
  EXPECT_TRUE(backlog_->writers().empty());
}

// A thread that asks the collector each millisecond where it may run.
class Asking {
 public:
  explicit Asking(RingCollector& collector)
      : thread_([this, &collector] {
          OtherCpus own;
          while (!stopping_) {
            collector.keep_off_writers(own);
            cpu_set_t allowed{};
            sched_getaffinity(0, sizeof(allowed), &allowed);
            cpus_ = CPU_COUNT(&allowed);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~Asking() {
    stopping_ = true;
    thread_.join();
  }
  [[nodiscard]] int cpus() const { return cpus_; }

 private:
  std::atomic<bool> stopping_{false};
  std::atomic<int> cpus_{0};
  std::thread thread_;
};

TEST_F(RingBacklogTest, ACollectorKeepsThreadsOffTheCpuOfWhoWritesLittle) {
  cpu_set_t all{};
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one CPU only";
  RingCollector collector;
  collector.add(backlog_);
  const Asking asking(collector);
  const auto writes_until_allowed = [&](int ops, int cpus) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (asking.cpus() != cpus && std::chrono::steady_clock::now() < deadline) {
      write(ops);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return asking.cpus() == cpus;
  };
  EXPECT_TRUE(writes_until_allowed(1, CPU_COUNT(&all) - 1));
  EXPECT_TRUE(writes_until_allowed(500, CPU_COUNT(&all))) << "anywhere, to lose nothing";
}

}  // namespace
}  // namespace stepscope

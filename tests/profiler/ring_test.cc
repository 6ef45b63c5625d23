#include "profiler/ring/ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/profiler/test_ring.h"

namespace stepscope {
namespace {

TEST(RingTest, SlotCountsArePowersOfTwoWithinBounds) {
  EXPECT_EQ(slots_that_fit(std::size_t{2} << 20), 65'536U);
  EXPECT_EQ(slots_that_fit((std::size_t{2} << 20) + 31), 65'536U);
  EXPECT_EQ(slots_that_fit(1), 2 * kReservedForMarks);
  EXPECT_EQ(slots_that_fit(SIZE_MAX), std::uint32_t{1} << 26);
}

// The recorder may be another process: nothing in a ring may depend on where it is mapped.
TEST(RingTest, ACopyAtAnotherAddressReadsTheSame) {
  TestRing ring;
  ring.op("aten::add");
  ring.op("a name that does not fit into the first slot of its definition");
  const std::size_t bytes = ring_bytes(ring.header()->slot_count);
  std::unique_ptr<char[]> copy(new char[bytes + 64]);
  char* aligned = copy.get() + (64 - reinterpret_cast<std::uintptr_t>(copy.get()) % 64) % 64;
  std::memcpy(aligned, ring.header(), bytes);

  TestDecoder there(reinterpret_cast<RingHeader*>(aligned));
  const DecodedEvents events = there.decode();
  ASSERT_EQ(events.ops.size(), 2U);
  EXPECT_EQ(there.text(events.ops[0].name), "aten::add");
  EXPECT_EQ(there.text(events.ops[1].name),
            "a name that does not fit into the first slot of its definition");
}

TEST(RingTest, ANonsensicalHeadYieldsNothing) {
  TestRing ring;
  RingConsumer consumer(ring.header());
  ring.header()->head.store(std::uint64_t{1} << 60);
  EXPECT_EQ(consumer.published().size(), 0U);
}

// One thread writes a million ops, another reads them: each arrives once, in order, whole; what
// does not arrive is counted.
TEST(RingTest, EveryEventArrivesOrIsCounted) {
  TestRing ring(4096);
  TestDecoder reader(ring.header());
  constexpr std::int64_t kOps = 1'000'000;
  std::atomic<bool> done = false;
  std::thread producer([&] {
    for (std::int64_t i = 0; i < kOps; ++i) ring.op("aten::add", i);
    done = true;
  });
  std::int64_t arrived = 0;
  std::int64_t last = -1;
  const auto check = [&](const DecodedEvents& events) {
    for (const Op& op : events.ops) {
      ASSERT_GT(op.sequence, last);
      last = op.sequence;
      ASSERT_EQ(reader.text(op.name), "aten::add");
    }
    arrived += static_cast<std::int64_t>(events.ops.size());
  };
  while (!done) check(reader.decode());
  producer.join();
  check(reader.decode());
  const auto lost = static_cast<std::int64_t>(ring.header()->lost[static_cast<int>(LossKind::kOp)]);
  EXPECT_EQ(arrived + lost, kOps);
  EXPECT_EQ(reader.decoder().corrupt_slots(), 0);
}

// A store to a page of a file that has no room for it would raise SIGBUS.
TEST(RingTest, MemoryThatCannotBeAllocatedIsAFullRing) {
  constexpr std::uint32_t kSlots = 8192;
  constexpr std::size_t kReady = std::size_t{40} << 10;
  const int file = memfd_create("ring", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kReady), 0);
  void* memory = mmap(nullptr, ring_bytes(kSlots), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(memory, MAP_FAILED);
  RingProducer producer(format_ring(memory, kSlots, 1, 1, "", kReady));
  std::uint64_t written = 0;
  const auto fill = [&] {
    for (; producer.has_room(1, kReservedForMarks); ++written) {
      producer.slot(0).kind = SlotKind::kShapes;
      producer.publish(1);
    }
  };
  fill();
  EXPECT_EQ(written, (kReady - sizeof(RingHeader)) / sizeof(Slot) - kReservedForMarks);
  EXPECT_TRUE(producer.has_room(1, 0)) << "the reserve for marks is there";
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(ring_bytes(kSlots))), 0);
  fill();
  EXPECT_EQ(written, kSlots - kReservedForMarks);
  munmap(memory, ring_bytes(kSlots));
  close(file);
}

}  // namespace
}  // namespace stepscope

// Allocations that fail. A program of its own, because they are those of the whole program.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "profiler/recorder/ring_backlog.h"
#include "profiler/ring/ring_registry.h"

namespace {
// How many allocations on this thread succeed before one fails; negative: none fails.
thread_local int allocations_until_failure = -1;

void* allocate(std::size_t bytes) {
  if (allocations_until_failure >= 0 && allocations_until_failure-- == 0) throw std::bad_alloc();
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void release(void* memory) { std::free(memory); }
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }

namespace stepscope {
namespace {

// Each allocation of a first collect() fails once. What could not be collected stays in the ring
// and comes with the next take().
TEST(OutOfMemory, ABacklogLosesNothing) {
  constexpr std::uint32_t kOps = 300;
  const Region region = map_private_region(lay_out_region(4096 * sizeof(Slot)), {});
  RingRegistry registry;
  registry.use(region);
  ThreadRecorder* const recorder = registry.add_current_thread();
  std::uint32_t next = 0;
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    RingBacklog backlog(region);
    const std::uint32_t first = next;
    for (std::uint32_t op = 0; op < kOps; ++op) {
      recorder->start_op({&backlog, "op", next++, 0, OpScope::kFunction});
      recorder->end_op(&backlog);
    }
    allocations_until_failure = i;
    try {
      backlog.collect(UINT64_MAX);
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    allocations_until_failure = -1;
    std::uint32_t expected = first;
    std::vector<Slot> slots;
    for (backlog.take(0, slots); !slots.empty(); backlog.take(0, slots)) {
      for (const Slot& slot : slots) {
        if (slot.kind != SlotKind::kOp) continue;
        EXPECT_EQ(slot.op.sequence, expected++);
      }
    }
    EXPECT_EQ(expected, next) << "allocation " << i << " failed";
  }
  EXPECT_GT(failures, 1);
  registry.close(recorder);
  unmap_region(region);
}

}  // namespace
}  // namespace stepscope

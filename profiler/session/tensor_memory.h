// Counts the memory of tensors, for the counters of `stepscope run`. Active only in processes that
// `stepscope run` records, because nothing else reads the counters.
//
// Thread safety: any thread may call note_*; the caller of start and stop must hold the session's
// lock. Never throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/ring/pointer_table.h"
#include "profiler/ring/region_format.h"
#include "profiler/ring/thread_recorder.h"
#include "profiler/session/current_thread.h"
#include "profiler/visibility.h"

namespace stepscope {

// CPU memory that is already held is not counted. If it cannot allocate its table, only the totals
// that the devices report are counted.
// `devices`: an array of kMaxDevices.
STEPSCOPE_INTERNAL void start_counting_tensor_memory(DeviceMemory* devices);
// Also for the child of a fork: forgets the blocks that the parent held.
STEPSCOPE_INTERNAL void stop_counting_tensor_memory();

STEPSCOPE_INTERNAL void note_tensor_memory(const void* pointer, std::size_t bytes);
STEPSCOPE_INTERNAL void note_tensor_memory_freed(const void* pointer);

// The blocks that are held now; null: not counting. Changed by start and stop only.
extern std::atomic<PointerTable*> held_blocks;
// The recording whose memory is counted; 0: none.
extern std::atomic<std::uint32_t> counted_session;

// note_tensor_memory() and note_tensor_memory_freed() for most blocks, in a few instructions: a
// step of small ops has hundreds of them. False: nothing was noted, and the whole function must be
// called.
STEPSCOPE_HOT_INLINE bool note_small_tensor(const void* pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0 || bytes >= PointerTable::kMin) return false;
  ThreadRecorder* const recorder = thread_recorder;
  if (recorder == nullptr ||
      recorder->session() != counted_session.load(std::memory_order_relaxed)) {
    return false;
  }
  recorder->count_allocation(bytes);
  return true;
}
STEPSCOPE_HOT_INLINE bool note_freed_unheld(const void* pointer) {
  const PointerTable* const table = held_blocks.load(std::memory_order_relaxed);
  return table == nullptr || !table->may_hold(pointer);
}

// Whether a tensor was allocated when none were counted.
STEPSCOPE_INTERNAL bool uncounted_tensors();

// The CPU tensor memory that `thread` holds, in blocks of at least PointerTable::kMin, plus all
// that the process holds on devices; kHeldUnknown: not counted.
STEPSCOPE_INTERNAL std::int64_t held_tensor_memory(ThreadRecorder& thread);

// The allocator of device number `device` reports the memory held there now, in bytes.
STEPSCOPE_INTERNAL void note_device_memory(int device, std::int64_t allocated,
                                           std::int64_t reserved);

// `bytes` of device memory were allocated at `pointer`; negative: freed. No other device uses that
// address, nor does the CPU (CUDA's unified addresses).
STEPSCOPE_INTERNAL void note_device_block(int device, const void* pointer, std::int64_t bytes);

}  // namespace stepscope

// Counts the memory of tensors, for the counters of `stepscope run`. Active only in processes that
// `stepscope run` records, because nothing else reads the counters.
//
// Thread safety: any thread may call note_*; the caller of start and stop must hold the session's
// lock. Never throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/ring/region_format.h"
#include "profiler/ring/thread_recorder.h"
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

// Counts the memory of tensors, for the counters of `stepscope run`. On only in a process that it
// records: nothing else reads the counters.
//
// Thread safety: note_*: any thread; start and stop: under the session's lock. Never throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/ring/region_format.h"
#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// On the CPU, memory that is already held is not counted. Does nothing if it cannot allocate its
// table. `devices`: kMostDevices of them.
STEPSCOPE_INTERNAL void start_counting_tensor_memory(DeviceMemory* devices);
// After a fork, in the child: does not count what its parent held.
STEPSCOPE_INTERNAL void stop_counting_tensor_memory();

STEPSCOPE_INTERNAL void note_tensor_memory(const void* pointer, std::size_t bytes);
STEPSCOPE_INTERNAL void note_tensor_memory_freed(const void* pointer);

// The tensor memory that `thread` holds on the CPU, in blocks of PointerTable::kLeast and more, and
// all that the process holds on devices; kHeldUnknown: it is not counted.
STEPSCOPE_INTERNAL std::int64_t held_tensor_memory(ThreadRecorder& thread);

// The allocator of device number `device` reports the memory held there now, in bytes.
STEPSCOPE_INTERNAL void note_device_memory(int device, std::int64_t allocated,
                                           std::int64_t reserved);

// `bytes` of it were allocated at `pointer`, an address that no other device and not the CPU uses
// (CUDA's unified addresses); negative: freed.
STEPSCOPE_INTERNAL void note_device_block(int device, const void* pointer, std::int64_t bytes);

}  // namespace stepscope

// Counts the memory of tensors, for the samples of `stepscope run`. On only in a process
// that it records: nobody else reads the counters.
//
// Thread safety: note_*: any thread; start and stop: under the session's lock. Never throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/ring/region_format.h"
#include "profiler/visibility.h"

namespace stepscope {

// On the CPU, memory that is held already is not counted. Does nothing when there is no memory for
// it. `devices`: kMostDevices of them.
STEPSCOPE_INTERNAL void start_counting_tensor_memory(DeviceMemory* devices);
// After a fork, in the child: what its parent held is not its own to count.
STEPSCOPE_INTERNAL void stop_counting_tensor_memory();

STEPSCOPE_INTERNAL void note_tensor_memory(const void* pointer, std::size_t bytes);
STEPSCOPE_INTERNAL void note_tensor_memory_freed(const void* pointer);

// The allocator of device number `device` says what is held there now, bytes.
STEPSCOPE_INTERNAL void note_device_memory(int device, std::int64_t allocated,
                                           std::int64_t reserved);

// `bytes` of it were allocated at `pointer`, an address that no other device and not the CPU uses
// (CUDA's unified addresses); negative: freed.
STEPSCOPE_INTERNAL void note_device_block(int device, const void* pointer, std::int64_t bytes);

}  // namespace stepscope

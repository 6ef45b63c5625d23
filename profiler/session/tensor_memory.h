// Counts the memory of tensors on the CPU, for the samples of `stepscope run`. On only in a process
// that it records: nobody else reads the counters.
//
// Thread safety: note_*: any thread; start and stop: under the session's lock. Never throws.
#pragma once

#include <cstddef>

#include "profiler/visibility.h"

namespace stepscope {

// Memory that is held already is not counted. Does nothing when there is no memory for it.
STEPSCOPE_INTERNAL void start_counting_tensor_memory();
// After a fork, in the child: what its parent held is not its own to count.
STEPSCOPE_INTERNAL void stop_counting_tensor_memory();

STEPSCOPE_INTERNAL void note_tensor_memory(const void* pointer, std::size_t bytes);
STEPSCOPE_INTERNAL void note_tensor_memory_freed(const void* pointer);

}  // namespace stepscope

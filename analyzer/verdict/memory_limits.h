// The memory limits of a process and how close it came to them, as last sampled. Reported for a
// process that ran out of memory.
#pragma once

#include "analyzer/counters/counters.h"
#include "analyzer/facts/memory_limits.h"
#include "store/events.h"

namespace stepscope {

MemoryLimits read_memory_limits(const Counters& counters, ProcessId process);

}  // namespace stepscope

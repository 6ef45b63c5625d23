// How much of the step time was spent waiting for memory, from the counter readings.
#pragma once

#include "analyzer/counters/counters.h"
#include "analyzer/report.h"

namespace stepscope {

// Memory pressure is not a category of its own: it slows down compute, input and everything else,
// and overlaps with them. The measure is the time in which some task on the machine waited for
// memory (pressure stall information, psi_memory_some_us). Where the kernel does not report it,
// each major page fault of the loop's process counts as kMajorFaultNs. There are about ten readings
// a second: the figure of a shorter step is that of its neighbourhood. Unknown with fewer than 2
// readings in the analysed steps.
MemoryPressure measure_memory_pressure(const LoopReport& report, const Counters& counters);

// The time a fast solid-state disk takes to read 4 KiB: less than most major faults cost.
inline constexpr double kMajorFaultNs = 80'000;

}  // namespace stepscope

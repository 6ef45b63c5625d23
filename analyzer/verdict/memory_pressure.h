// How much of the steps' time went to waiting for memory, from the samples.
#pragma once

#include "analyzer/report.h"
#include "analyzer/samples/counters.h"

namespace stepscope {

// Memory pressure is no category of its own: it makes computing, input and everything else slower,
// and overlaps with them. What is measured is the time in which some task of the machine waited for
// memory (pressure stall information, psi_memory_some_us); where the kernel has none, at least
// kMajorFaultNs for each major page fault of the loop's process. Samples come about ten a second:
// for shorter steps the figure is that of their neighbourhood. Unknown with fewer than 2 readings
// in the analysed steps.
MemoryPressure measure_memory_pressure(const LoopReport& report, const Counters& counters);

// What reading 4 KiB takes a fast solid-state disk: less than most major faults cost.
inline constexpr double kMajorFaultNs = 80'000;

}  // namespace stepscope

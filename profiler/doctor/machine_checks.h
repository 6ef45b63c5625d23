// What the system lets us do: each thing that recording uses is tried.
#pragma once

#include "profiler/doctor/finding.h"

namespace stepscope {

// The socket and the shared memory between program and recorder, watching processes, counters of
// pressure, the limit on addresses.
Findings check_machine();

}  // namespace stepscope

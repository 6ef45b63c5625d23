// Checks what the system permits, by trying everything that recording uses.
#pragma once

#include "profiler/doctor/finding.h"

namespace stepscope {

// The socket and the shared memory between program and recorder, the watching of processes, the
// pressure counters, the limit on addresses.
Findings check_machine();

}  // namespace stepscope

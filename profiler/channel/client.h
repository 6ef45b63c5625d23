// The program's end of the channel: asks the recorder for a region to write to.
#pragma once

#include "profiler/ring/region.h"

namespace stepscope {

// Whether this process was started under `stepscope run`.
bool is_wrapped();

// Connects, maps the region, and closes everything else. Blocks for at most
// kRecorderPatienceSeconds; does not allocate or print. Returns an empty Region if the recorder is
// absent or refuses. Preserves errno.
//
// `inherited`: the region of the process that this one was forked from, still mapped, or nullptr.
// If that process, or another one forked from it, has waited for the recorder in vain, this process
// waits only briefly until the recorder shows a sign of life.
Region connect_to_recorder(RegionHeader* inherited);

// For a process that ends: tells the recorder that it was not recorded though it has libtorch. Does
// not wait for an answer.
void report_unrecorded();

}  // namespace stepscope

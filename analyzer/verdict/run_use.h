// Where the time of the whole run went, as one training loop shows it: start-up, its steps, what
// its thread did besides (steps/segments.h), and what followed.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/facts/run_use.h"
#include "store/analysis.h"

namespace stepscope {

// `steps` and `segments`: all of a loop, in order. `run_ns`: from session time 0 to the end of the
// recording.
RunUse measure_run_use(const std::vector<Step>& steps, const std::vector<LoopSegment>& segments,
                       std::int64_t run_ns);

}  // namespace stepscope

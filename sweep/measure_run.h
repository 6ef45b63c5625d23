// From the recording of one run of a sweep to its figures: the time of each step, what of it was
// waiting for input, and what its steps asked of the memory.
#pragma once

#include <optional>

#include "store/status.h"
#include "store/sweep_rows.h"
#include "store/trace_reader.h"

namespace stepscope {

struct MeasureOptions {
  std::optional<std::int64_t> warm_up;  // steps left out at the start; nothing: found by itself
  std::optional<double> samples;        // of each step, or of the whole run
  bool per_run = false;
};

// Fills in what a recording tells, of the loop with the most step time. A run without a step that
// counts has the outcome kNoSteps unless it had another one already. Errors: reading failed; the
// recording stopped before the program ended (kIo: its disk is full).
Status measure_sweep_run(const TraceReader& reader, const MeasureOptions& options, SweepRun& run);

// Whether the kernel killed a process of the run because memory ran out.
Result<bool> killed_for_memory(const TraceReader& reader);

}  // namespace stepscope

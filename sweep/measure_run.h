// Measures one run of a sweep from its recording: the time of each step, the part of it spent
// waiting for input, and the memory use.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analyzer/report.h"
#include "store/status.h"
#include "store/sweep_rows.h"
#include "store/trace_reader.h"

namespace stepscope {

struct MeasureOptions {
  std::optional<std::int64_t> warm_up;  // steps left out at the start; nothing: detected
  std::optional<double> samples;        // of each step, or of the whole run
  bool per_run = false;
  // Says why a run has no steps. A callback, because wording is the task of present/.
  std::function<std::string(const AnalysisReport&)> why_no_steps = {};
};

// Fills in what a recording says about the loop with the most step time. A run without a steady
// step gets the outcome kNoSteps unless it already has another one. Errors: reading failed; the
// recording stopped before the program ended (kIo: its disk is full).
Status measure_sweep_run(const TraceReader& reader, const MeasureOptions& options, SweepRun& run);

// Whether the kernel killed a process of the run because memory ran out.
Result<bool> killed_for_memory(const TraceReader& reader);

}  // namespace stepscope

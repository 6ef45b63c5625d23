// Exports a store as Chrome trace JSON, for the Perfetto UI and chrome://tracing. docs/timeline.md
// describes the tracks.
//
// Memory does not grow with the number of ops: they are read, ordered and written as a stream.
// Phases, steps and the interned strings are kept in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "store/analysis.h"
#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"
#include "viewer-export/cut.h"

namespace stepscope {

struct ChromeTraceOptions {
  // Only events that start within these steps, of any loop.
  std::optional<StepRange> steps;
  // Called periodically with the number of ops read so far.
  std::function<void(std::int64_t)> progress;
};

struct ChromeTraceSummary {
  std::int64_t ops = 0;
  std::int64_t phases = 0;
  std::int64_t steps = 0;
  std::int64_t slices = 0;  // of every kind
  std::int64_t counters = 0;
  std::int64_t activities = 0;  // kernels, copies and memsets
  std::int64_t calls = 0;       // of the CUDA runtime and driver
  // Arrows from forward ops to their backward nodes, and from calls to kernels.
  std::int64_t flows = 0;
  std::int64_t lanes = 0;  // extra tracks for slices that did not nest
  // Not drawn: events of an unknown thread, with a negative time, or beyond the most tracks of a
  // thread.
  std::int64_t skipped = 0;
};

// Writes the trace and finishes `sink`. The steps and verdicts are drawn from `analysis`. Errors:
// kBadInput (the store contains no events), kUsage (the requested steps do not exist), those of
// reading and of `sink`.
Result<ChromeTraceSummary> write_chrome_trace(const TraceReader& reader, const Analysis& analysis,
                                              const ChromeTraceOptions& options, ByteSink& sink);

}  // namespace stepscope

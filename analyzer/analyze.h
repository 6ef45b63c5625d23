// From a recording to a report: steps -> attribute -> verdict -> advise.
#pragma once

#include <functional>
#include <optional>

#include "analyzer/report.h"

namespace stepscope {

struct AnalyzeOptions {
  std::optional<StepSpan> steps;  // only these
  bool with_warm_up = false;      // the first steps count like the others
  // The figures of each op and phase over the steps, not only the sums: OpRow::samples and
  // LoopReport::step_phases.
  bool op_samples = false;
  bool keep_predictor = false;                 // fill LoopReport::predictor
  std::function<void(std::int64_t)> progress;  // called periodically with the number of ops read
};

// A run without steps is not an error: the report then has no loops, and no_steps says what was
// seen. Errors: reading the store failed; the run has none of the requested steps (kUsage).
Result<AnalysisReport> analyze(const RecordedRun& recording, const AnalyzeOptions& options = {});
Result<AnalysisReport> analyze(const TraceReader& reader, const AnalyzeOptions& options = {});

}  // namespace stepscope

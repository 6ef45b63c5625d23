// The one pass over the ops of a run, which feeds every part of the analysis that needs ops.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/attribute/priority_breakdown.h"
#include "analyzer/correlate/call_ops.h"
#include "analyzer/lines/native_code.h"
#include "analyzer/modules/find_modules.h"
#include "analyzer/serving/op_facts.h"
#include "analyzer/simulate/step_sampler.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// The results of reading the ops once: the times of the steps, some steps for the replay, and, if
// there are devices, the op of each call and the older breakdown.
struct SweptRun {
  std::vector<AttributedLoop> loops;
  std::vector<StepSample> samples;  // of each loop
  std::vector<OpFacts> facts;       // of each loop
  CallOrigins origins;
  PriorityBreakdown older;
};

class RunSweep {
 public:
  // All of them must outlive the object.
  RunSweep(const RecordedRun& recording, const DeviceWork& devices, const ModuleHistory& modules,
           const std::vector<Loop>& loops, const AnalyzeOptions& options);

  // Reads the ops, and also passes each to `native`. Errors: those of reading them.
  Result<SweptRun> sweep(NativeSamples& native);
  // The number of warm-up steps at the start of a loop.
  [[nodiscard]] std::size_t warm_up(std::size_t loop) const { return warm_up_[loop]; }

 private:
  [[nodiscard]] StepRole role_of(std::size_t loop, std::size_t step) const;
  [[nodiscard]] std::vector<OpFactsReader> make_facts() const;
  [[nodiscard]] std::vector<StepSampler> make_samplers() const;

  const RecordedRun& recording_;
  const DeviceWork& devices_;
  const ModuleHistory& modules_;
  const std::vector<Loop>& loops_;
  const AnalyzeOptions& options_;
  std::vector<std::size_t> warm_up_;  // steps of each loop
};

}  // namespace stepscope

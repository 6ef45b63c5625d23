// What would help, and what a step would then take.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "analyzer/advise/context.h"
#include "analyzer/samples/counters.h"

namespace stepscope {

// What all rules say, the largest saving first.
std::vector<Advice> advise(const AdviceContext& context);

// The predictor of a loop: its report, filled but for the advice, and its sampled steps.
std::shared_ptr<const Predictor> make_predictor(const LoopReport& report, StepSample sample);

// The threads of a run by what is marked on them. Made once, for all loops.
struct ThreadMarks {
  explicit ThreadMarks(const std::vector<Phase>& phases);
  std::set<ThreadId> backward;  // run backward passes
  std::set<ThreadId> phases;    // have any but scopes and samplers
};

// Fills report.use, report.replay and the advice of its verdict.
void add_advice(LoopReport& report, const RecordedRun& recording, const Counters& counters,
                const ThreadMarks& marks, const std::shared_ptr<const Predictor>& predictor);

}  // namespace stepscope

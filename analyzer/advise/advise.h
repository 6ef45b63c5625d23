// Finds what would make a loop faster, and the step time to expect from it.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "analyzer/advise/context.h"
#include "analyzer/counters/counters.h"

namespace stepscope {

// The advice of all rules, the largest saving first.
std::vector<AdviceFacts> advise(const AdviceContext& context);

// The predictor of a loop, from its report (complete except for the advice) and its replayed steps.
std::shared_ptr<const Predictor> make_predictor(const LoopReport& report, const PhaseSplit* split,
                                                StepSample sample);

// The threads of a run by the phases marked on them. Made once, for all loops.
struct ThreadMarks {
  explicit ThreadMarks(const std::vector<Phase>& phases);
  std::set<ThreadId> backward;  // run backward passes
  std::set<ThreadId> phases;    // have phases other than scopes and samplers
  std::set<ThreadId> readers;   // of these, all are waits for input
};

// Fills report.use, report.replay and the advice of its verdict.
void add_advice(LoopReport& report, const RecordedRun& recording, const Counters& counters,
                const ThreadMarks& marks, const std::shared_ptr<const Predictor>& predictor);

}  // namespace stepscope

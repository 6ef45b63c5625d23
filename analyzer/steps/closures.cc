#include "analyzer/steps/closures.h"

#include <algorithm>

#include "analyzer/steps/find_loops.h"

namespace stepscope {

std::vector<Phase> without_closures(const std::vector<Phase>& phases) {
  std::vector<const Phase*> closures;
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kForward) closures.push_back(&phase);
  }
  if (closures.empty()) return phases;
  std::vector<Phase> result;
  SessionTime cut_until = SessionTime::min();
  for (const Phase& phase : phases) {
    const bool optimizer = phase.kind == PhaseKind::kOptimizer;
    if (optimizer && phase.start < cut_until) continue;  // inside one that has been cut
    result.push_back(phase);
    if (!optimizer) continue;
    auto closure = std::partition_point(closures.begin(), closures.end(),
                                        [&](const Phase* c) { return c->start < phase.start; });
    for (; closure != closures.end() && (*closure)->start < end_of(phase); ++closure) {
      Phase& before = result.back();
      if ((*closure)->start < before.start) continue;  // inside the previous closure
      cut_until = end_of(phase);
      Phase after = before;
      before.dur = (*closure)->start - before.start;
      after.start = std::min(end_of(**closure), end_of(phase));
      after.dur = end_of(phase) - after.start;
      result.push_back(after);
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Phase& a, const Phase& b) { return a.start < b.start; });
  return result;
}

}  // namespace stepscope

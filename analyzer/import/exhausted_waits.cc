#include "analyzer/import/exhausted_waits.h"

#include <algorithm>

namespace stepscope {

void ExhaustedWaits::begin(const Op& op) {
  const bool is_wait = op.phase == PhaseKind::kInput && op.scope == OpScope::kUser;
  const auto known = threads_.find(op.thread);
  if (known == threads_.end() && !is_wait) return;
  Waits& waits = threads_[op.thread];
  if (waits.count > 0 && op.start < waits.end) return;  // inside the wait
  if (!is_wait) {
    waits.followed = true;
    return;
  }
  const Duration pause = waits.count > 0 ? op.start - waits.end : Duration(0);
  if (!waits.followed && pause >= std::max(kShortestPause, waits.end - waits.start))
    waits.exhausted.insert(waits.start);
  waits.start = op.start;
  waits.end = op.start + op.dur;
  waits.followed = false;
  ++waits.count;
}

// If most waits are followed by no op, the trace does not have the ops that work with a batch.
bool ExhaustedWaits::contains(ThreadId thread, SessionTime start) const {
  const auto known = threads_.find(thread);
  if (known == threads_.end()) return false;
  const Waits& waits = known->second;
  return 2 * static_cast<std::int64_t>(waits.exhausted.size()) < waits.count &&
         waits.exhausted.contains(start);
}

}  // namespace stepscope

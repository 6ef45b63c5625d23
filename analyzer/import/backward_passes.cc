#include "analyzer/import/backward_passes.h"

#include <algorithm>
#include <utility>

namespace stepscope {

void BackwardPasses::add_loop(ThreadId loop, const std::vector<ThreadId>& threads) {
  for (const ThreadId thread : threads) pass_of_[thread] = passes_.size();
  passes_.push_back({loop, std::nullopt});
}

Status BackwardPasses::close(Pass& pass, SessionTime at_latest) {
  const std::optional<TimeRange> range = std::exchange(pass.open, std::nullopt);
  if (!range) return {};
  const SessionTime end = std::min(range->end, at_latest);
  return found_({pass.loop, PhaseKind::kBackward, StringId::kNone, range->start, end - range->start,
                 Duration(0)});
}

Status BackwardPasses::begin(const Op& op, bool in_node) {
  const auto found = pass_of_.find(op.thread);
  if (found == pass_of_.end()) return {};
  Pass& pass = passes_[found->second];
  if (op.scope == OpScope::kBackwardFunction) {
    const SessionTime end = op.start + op.dur;
    if (!pass.open) pass.open = TimeRange{op.start, end};
    pass.open->end = std::max(pass.open->end, end);
    return {};
  }
  return op.thread == pass.loop && !in_node ? close(pass, op.start) : Status();
}

Status BackwardPasses::end() {
  for (Pass& pass : passes_) {
    const SessionTime end = pass.open ? pass.open->end : SessionTime();
    if (Status status = close(pass, end); !status.ok()) return status;
  }
  return {};
}

}  // namespace stepscope

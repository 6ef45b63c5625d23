#include "analyzer/correlate/call_ops.h"

#include <algorithm>
#include <utility>

namespace stepscope {

void CallOps::add(const Op& op, std::int64_t id, OpClass kind) {
  if (kind == OpClass::kTransparent) return;
  auto [it, added] = threads_.try_emplace(op.thread);
  ThreadCalls& thread = it->second;
  if (added) thread.calls = work_.calls_of(op.thread);
  const SessionTime end = op.start + op.dur;
  for (; thread.next < thread.calls.size() && thread.calls[thread.next].start < end; ++thread.next)
    thread.open.push_back(thread.next);
  while (!thread.open.empty()) {
    const HostCall& call = thread.calls[thread.open.back()];
    if (call.start < op.start) break;
    // Ops of one thread end in order, but those of foreign traces may overlap without nesting.
    if (call.start >= end) break;
    found_.push_back({call.row, id});
    thread.open.pop_back();
  }
}

std::vector<CallOp> CallOps::take() {
  std::sort(found_.begin(), found_.end(),
            [](const CallOp& a, const CallOp& b) { return a.api_call < b.api_call; });
  return std::move(found_);
}

}  // namespace stepscope

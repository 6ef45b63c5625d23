#include "analyzer/import/op_nester.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace stepscope {
namespace {

// 1 µs: the rounding error of times that were written as whole µs.
constexpr Duration kRounding{1000};

// How often threads without new ops are swept, in ops: otherwise their last ops would wait forever.
constexpr std::int64_t kSweepEvery = 4096;

SessionTime end_of(const Op& op) { return op.start + op.dur; }

}  // namespace

OpNester::Stack& OpNester::stack_of(ThreadId thread) {
  const auto at = static_cast<std::size_t>(thread);
  if (at >= stacks_.size()) stacks_.resize(at + 1);
  return stacks_[at];
}

Status OpNester::pop(Stack& stack) {
  OpenOp done = stack.back();
  stack.pop_back();
  done.op.self = done.op.dur - done.children;
  if (!stack.empty()) stack.back().children += done.op.dur;
  return finish_(done.op);
}

Status OpNester::pop_ended(Stack& stack, SessionTime now) {
  while (!stack.empty() && end_of(stack.back().op) <= now) {
    if (Status status = pop(stack); !status.ok()) return status;
  }
  return {};
}

Status OpNester::sweep(SessionTime now) {
  for (Stack& stack : stacks_) {
    if (Status status = pop_ended(stack, now); !status.ok()) return status;
  }
  return {};
}

Status OpNester::begin(Op op) {
  if (++begun_ % kSweepEvery == 0) {
    if (Status status = sweep(op.start); !status.ok()) return status;
  }
  Stack& stack = stack_of(op.thread);
  if (Status status = pop_ended(stack, op.start); !status.ok()) return status;
  bool in_node = op.scope == OpScope::kBackwardFunction;
  if (!stack.empty()) {
    const OpenOp& parent = stack.back();
    const Duration beyond = end_of(op) - end_of(parent.op);
    if (beyond > Duration(0)) {
      op.dur -= beyond;
      cut_ += beyond > kRounding ? 1 : 0;
    }
    if (op.phase == PhaseKind::kNone) op.phase = parent.op.phase;
    in_node = in_node || parent.in_node;
  }
  op.depth = static_cast<std::uint8_t>(
      std::min<std::size_t>(stack.size(), std::numeric_limits<std::uint8_t>::max()));
  stack.push_back({op, Duration(0), in_node});
  return {};
}

Status OpNester::end() {
  // In the order of their ends over all threads, like the ops so far.
  std::vector<std::pair<SessionTime, std::size_t>> ends;
  for (std::size_t thread = 0; thread < stacks_.size(); ++thread) {
    for (const OpenOp& open : stacks_[thread]) ends.emplace_back(end_of(open.op), thread);
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& [now, thread] : ends) {
    if (Status status = pop_ended(stacks_[thread], now); !status.ok()) return status;
  }
  return {};
}

bool OpNester::in_node(ThreadId thread) const {
  const auto at = static_cast<std::size_t>(thread);
  return at < stacks_.size() && !stacks_[at].empty() && stacks_[at].back().in_node;
}

}  // namespace stepscope

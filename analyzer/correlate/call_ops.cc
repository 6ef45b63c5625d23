#include "analyzer/correlate/call_ops.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

bool has_forward_op(const Op& op) { return op.forward_thread != 0 && op.sequence >= 0; }

}  // namespace

CallOps::CallOps(const RecordedRun& recording, const DeviceWork& work) : work_(work) {
  for (const StoredThread& thread : recording.threads)
    threads_[thread.id] = {thread.process, thread.torch_id, 0};
}

template <typename Claim>
void CallOps::Unclaimed::claim(TimeRange range, Claim claim) {
  for (; next_ < calls_.size() && calls_[next_].start < range.end; ++next_) open_.push_back(next_);
  while (!open_.empty()) {
    const HostCall& call = calls_[open_.back()];
    // Ops of one thread end in order, but those of imported traces may overlap without nesting.
    if (call.start < range.start || call.start >= range.end) break;
    claim(call.row);
    open_.pop_back();
  }
}

CallOps::ThreadCalls& CallOps::calls_of(ThreadId thread) {
  const auto known = calls_.find(thread);
  if (known != calls_.end()) return known->second;
  const Unclaimed all(work_.calls_of(thread));
  return calls_.emplace(thread, ThreadCalls{all, all}).first->second;
}

void CallOps::add(const Op& op, std::int64_t id, OpClass kind) {
  const auto thread = threads_.find(op.thread);
  if (kind == OpClass::kTransparent || thread == threads_.end()) return;
  ThreadCalls& calls = calls_of(op.thread);
  const TimeRange range{op.start, op.start + op.dur};
  calls.by_ops.claim(range, [&](std::int64_t row) { found_.push_back({row, id}); });
  if (has_forward_op(op)) {
    add_node(op, id, thread->second.process, calls);
  } else if (op.sequence >= 0) {
    add_maker(op, id, thread->second);
  }
}

// An op carries the number that the next node of its thread will get, so several may carry one. The
// last of them to begin made the node.
void CallOps::add_maker(const Op& op, std::int64_t id, NodeKey key) {
  if (key.torch_id == 0) return;
  key.sequence = op.sequence;
  if (makers_.empty() || makers_.back().key != key) {
    makers_.push_back({key, op.start, id});
  } else if (makers_.back().start < op.start) {
    makers_.back() = {key, op.start, id};
  }
}

void CallOps::add_node(const Op& op, std::int64_t id, ProcessId process, ThreadCalls& calls) {
  const std::size_t before = in_nodes_.size();
  calls.by_nodes.claim({op.start, op.start + op.dur},
                       [&](std::int64_t row) { in_nodes_.push_back({row, nodes_.size()}); });
  if (in_nodes_.size() > before)
    nodes_.push_back({{process, op.forward_thread, op.sequence}, op.start, id});
}

// The latest maker with the node's number that began before the node: a number may recur in a
// program that reuses its threads. 0: there is none. makers_ must be sorted.
std::int64_t CallOps::maker_of(const Maker& node) const {
  const auto after = std::partition_point(makers_.begin(), makers_.end(), [&](const Maker& maker) {
    return std::pair(maker.key, maker.start) < std::pair(node.key, node.start);
  });
  if (after == makers_.begin() || std::prev(after)->key != node.key) return 0;
  return std::prev(after)->op;
}

CallOrigins CallOps::take() {
  // Of two makers that begin together, the inner one sorts last: it ended, and was added, first.
  std::sort(makers_.begin(), makers_.end(), [](const Maker& a, const Maker& b) {
    return std::tuple(a.key, a.start, -a.op) < std::tuple(b.key, b.start, -b.op);
  });
  CallOrigins origins;
  for (const InNode& call : in_nodes_) {
    const Maker& node = nodes_[call.node];
    origins.nodes.push_back({call.api_call, node.op, maker_of(node)});
  }
  origins.ops = std::move(found_);
  std::sort(origins.ops.begin(), origins.ops.end(),
            [](const CallOp& a, const CallOp& b) { return a.api_call < b.api_call; });
  std::sort(origins.nodes.begin(), origins.nodes.end(),
            [](const CallNode& a, const CallNode& b) { return a.api_call < b.api_call; });
  return origins;
}

}  // namespace stepscope

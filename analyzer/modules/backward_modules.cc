#include "analyzer/modules/backward_modules.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t kMaxSequences = std::size_t{1} << 20;
constexpr std::size_t kMaxPending = std::size_t{1} << 17;
constexpr std::size_t kMaxResolved = 1024;
constexpr std::ptrdiff_t kMaxOpStarts = 1 << 16;

}  // namespace

void BackwardModules::Sequences::note(std::int64_t sequence, SessionTime start,
                                      std::size_t module) {
  const auto at = static_cast<std::size_t>(sequence) % kMaxSequences;
  if (at >= entries_.size())
    entries_.resize(std::min(std::max(2 * at, std::size_t{1024}), kMaxSequences));
  Entry& entry = entries_[at];
  if (entry.sequence == sequence && entry.start > start) return;
  entry = {sequence, start, module};
}

std::size_t BackwardModules::Sequences::module_of(std::int64_t sequence) const {
  const auto at = static_cast<std::size_t>(sequence) % kMaxSequences;
  return at < entries_.size() && entries_[at].sequence == sequence ? entries_[at].module : kNone;
}

void BackwardModules::add_thread(ThreadId thread, std::uint32_t torch_id) {
  threads_.try_emplace(thread);
  if (torch_id != 0) by_torch_id_[torch_id] = thread;
}

void BackwardModules::add(const Op& op, std::size_t module) {
  const auto known = threads_.find(op.thread);
  if (known == threads_.end()) return;
  Thread& thread = known->second;
  const bool is_node = op.scope == OpScope::kBackwardFunction;
  if (!is_node && op.sequence >= 0) thread.sequences.note(op.sequence, op.start, module);
  const std::int64_t inside = take_ops_inside(thread, op);
  if (!is_node) return;
  nodes_.push_back({op.thread, op.start, op.dur, op.sequence, op.forward_thread, inside + 1});
  if (nodes_.size() > kMaxPending) resolve_first(nodes_.size() / 2);
}

// Returns how many ops lie in `op` if it is a node, and in no node inside it. Ops inside end before
// it, so they are the latest.
std::int64_t BackwardModules::take_ops_inside(Thread& thread, const Op& op) {
  std::vector<SessionTime>& starts = thread.op_starts;
  if (op.scope != OpScope::kBackwardFunction) {
    if (std::ssize(starts) >= kMaxOpStarts)
      starts.erase(starts.begin(), starts.begin() + kMaxOpStarts / 2);
    starts.push_back(op.start);
    return 0;
  }
  std::int64_t inside = 0;
  for (; !starts.empty() && starts.back() >= op.start; ++inside) starts.pop_back();
  return inside;
}

// Resolves the first `count` nodes, whose forward ops have come by now.
void BackwardModules::resolve_first(std::size_t count) {
  for (; count > 0; --count) {
    const Node node = nodes_.front();
    nodes_.pop_front();
    resolve(node);
  }
}

// Children come first. Nodes within a node, such as those of a recomputation, have their own
// modules: their time does not count for the outer one.
void BackwardModules::resolve(const Node& node) {
  Thread& thread = threads_[node.thread];
  Duration inside{0};
  while (!thread.resolved.empty() && thread.resolved.back().start >= node.start) {
    inside += thread.resolved.back().dur;
    thread.resolved.pop_back();
  }
  if (thread.resolved.size() >= kMaxResolved) thread.resolved.clear();
  thread.resolved.push_back(node);
  // A node without a number handles the gradient of the node that ran before it.
  if (node.sequence >= 0) {
    const auto forward = by_torch_id_.find(node.forward_thread);
    thread.last_module = forward == by_torch_id_.end()
                             ? kNone
                             : threads_[forward->second].sequences.module_of(node.sequence);
  }
  if (thread.last_module == kNone) return;
  visit_(thread.last_module, std::max(node.dur - inside, Duration{0}), node.ops);
}

}  // namespace stepscope

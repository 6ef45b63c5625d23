#include "viewer-export/report/stack_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

// In a forked process, the frames below this one are those of the process that forked.
bool starts_a_process(const TraceReader& reader, const StackFrame& frame) {
  return reader.text(frame.function).ends_with("_bootstrap") &&
         reader.text(frame.file).ends_with("/multiprocessing/process.py");
}

}  // namespace

StackTree::StackTree(const TraceReader& reader, const std::vector<StackFrame>& frames) {
  node_of_frame_.reserve(frames.size());
  for (const StackFrame& frame : frames) {
    const bool outermost = frame.caller == FrameId::kNone || starts_a_process(reader, frame);
    const std::size_t caller = outermost
                                   ? StackNode::kNoCaller
                                   : node_of_frame_[static_cast<std::size_t>(frame.caller) - 1];
    node_of_frame_.push_back(node({caller, frame.function, frame.file, frame.line}));
  }
}

std::size_t StackTree::node(const StackNode& node) {
  const auto [entry, is_new] = number_of_.try_emplace(node, nodes_.size());
  if (is_new) nodes_.push_back(node);
  return entry->second;
}

void StackTree::add(const StackSample& sample, SampleMoment moment) {
  const bool blocked = sample.blocked != StringId::kNone;
  std::size_t innermost = node_of_frame_[static_cast<std::size_t>(sample.frame) - 1];
  if (blocked) innermost = node({innermost, sample.blocked, StringId::kNone, 0});
  ++groups_[{sample.thread, moment, blocked}][innermost];
}

std::map<WatchedThreadId, std::int64_t> StackTree::samples_by_thread() const {
  std::map<WatchedThreadId, std::int64_t> samples;
  for (const auto& [group, counts] : groups_) {
    for (const auto& [node, count] : counts) samples[group.thread] += count;
  }
  return samples;
}

// Callers come before what they call.
void StackTree::add_up(std::vector<std::int64_t>& counts) const {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].caller != StackNode::kNoCaller) counts[nodes_[i].caller] += counts[i];
  }
}

std::vector<std::int64_t> StackTree::totals() const {
  std::vector<std::int64_t> totals(nodes_.size());
  for (const auto& [group, counts] : groups_) {
    for (const auto& [node, count] : counts) {
      if (node != StackNode::kNoCaller) totals[node] += count;  // else prune() left no frame for it
    }
  }
  add_up(totals);
  return totals;
}

void StackTree::keep_threads(std::size_t most) {
  std::vector<std::pair<std::int64_t, WatchedThreadId>> order;
  for (const auto& [thread, samples] : samples_by_thread()) order.emplace_back(-samples, thread);
  if (order.size() <= most) return;
  std::ranges::sort(order);
  left_out_.threads = order.size() - most;
  for (std::size_t i = most; i < order.size(); ++i) {
    std::erase_if(groups_,
                  [&](const auto& entry) { return entry.first.thread == order[i].second; });
  }
}

// For each node, its share of the samples of the thread in which this share is largest.
std::vector<double> StackTree::largest_shares() const {
  std::vector<double> shares(nodes_.size());
  for (const auto& [thread, samples] : samples_by_thread()) {
    std::vector<std::int64_t> counts(nodes_.size());
    for (const auto& [group, own] : groups_) {
      if (group.thread != thread) continue;
      for (const auto& [node, count] : own) counts[node] += count;
    }
    add_up(counts);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] =
          std::max(shares[i], static_cast<double>(counts[i]) / static_cast<double>(samples));
    }
  }
  return shares;
}

void StackTree::prune(std::size_t most_threads, double least, std::size_t most_nodes) {
  left_out_ = {};
  keep_threads(most_threads);
  const std::vector<double> shares = largest_shares();
  const auto seen = std::ranges::count_if(shares, [](double share) { return share > 0; });
  left_out_.least = least;
  std::vector<double> order = shares;
  std::ranges::sort(order, std::greater<>());
  // A caller has at least the share of what it calls.
  if (order.size() > most_nodes && order[most_nodes] >= least) {
    left_out_.least = std::nextafter(order[most_nodes], 2.0);
  }
  keep_nodes(shares);
  left_out_.nodes = static_cast<std::size_t>(seen) - nodes_.size();
}

void StackTree::keep_nodes(const std::vector<double>& shares) {
  std::vector<std::size_t> becomes(nodes_.size(), StackNode::kNoCaller);
  std::vector<StackNode> kept;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    StackNode node = nodes_[i];
    if (node.caller != StackNode::kNoCaller) node.caller = becomes[node.caller];
    if (shares[i] <= 0 || shares[i] < left_out_.least) {
      becomes[i] = node.caller;
      continue;
    }
    becomes[i] = kept.size();
    kept.push_back(node);
  }
  for (auto& [group, counts] : groups_) {
    Counts moved;
    for (const auto& [node, count] : counts) moved[becomes[node]] += count;
    counts = std::move(moved);
  }
  nodes_ = std::move(kept);
  number_of_.clear();
  node_of_frame_.clear();
}

}  // namespace stepscope

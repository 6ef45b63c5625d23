// Stack samples, counted as a tree, from which a flame graph is drawn.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/report/loop_moments.h"

namespace stepscope {

// A line and the frames that called it, or the system call that a line was blocked in: that has no
// file and is the innermost.
struct StackNode {
  static constexpr std::size_t kNoCaller = SIZE_MAX;

  std::size_t caller = kNoCaller;  // its index, which is lower
  StringId function = StringId::kNone;
  StringId file = StringId::kNone;
  std::int64_t line = 0;  // 0: unknown

  friend auto operator<=>(const StackNode&, const StackNode&) = default;
};

// The samples of one kind, by the node that was innermost.
struct StackGroup {
  WatchedThreadId thread = WatchedThreadId::kNone;
  SampleMoment moment = SampleMoment::kNotAwaited;
  bool blocked = false;

  friend auto operator<=>(const StackGroup&, const StackGroup&) = default;
};

class StackTree {
 public:
  using Counts = std::unordered_map<std::size_t, std::int64_t>;  // by node

  // `reader` outlives it; `frames`: its frames().
  StackTree(const TraceReader& reader, const std::vector<StackFrame>& frames);

  void add(const StackSample& sample, SampleMoment moment);

  // Keeps the `most_threads` threads with the most samples. A node with less than `least` of the
  // samples of each thread is merged into its caller, and so are nodes beyond `most_nodes`.
  void prune(std::size_t most_threads, double least, std::size_t most_nodes);

  [[nodiscard]] const std::vector<StackNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<StackGroup, Counts>& groups() const { return groups_; }
  [[nodiscard]] std::map<WatchedThreadId, std::int64_t> samples_by_thread() const;
  // What the last prune() left out. `least`: as requested, or as high as was needed to have few
  // enough nodes.
  struct LeftOut {
    std::size_t threads = 0;
    std::size_t nodes = 0;
    double least = 0;
  };
  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }
  // The samples of each node in all groups, including those of what it called.
  [[nodiscard]] std::vector<std::int64_t> totals() const;

 private:
  std::size_t node(const StackNode& node);
  void keep_threads(std::size_t most);
  [[nodiscard]] std::vector<double> largest_shares() const;
  void keep_nodes(const std::vector<double>& shares);
  void add_up(std::vector<std::int64_t>& counts) const;

  std::vector<StackNode> nodes_;
  std::map<StackNode, std::size_t> number_of_;
  std::vector<std::size_t> node_of_frame_;
  std::map<StackGroup, Counts> groups_;
  LeftOut left_out_;
};

}  // namespace stepscope

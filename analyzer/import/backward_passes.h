// The backward passes of a run, as phases of the loops' threads.
//
// A trace of ops has no mark around backward(). It has the autograd nodes, which run on a thread of
// autograd (or, on a CPU, on the thread that called backward() itself), and the loop's thread
// begins no op of its own while it waits for them. So a pass is the stretch from the first node to
// the last that is not interrupted by an op which the loop's thread begins outside a node. It omits
// what backward() does before the first node and after the last, a few µs.
//
// Thread safety: none. Memory: one pass per process.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/events.h"
#include "store/status.h"

namespace stepscope {

class BackwardPasses {
 public:
  using Found = std::function<Status(const Phase&)>;
  explicit BackwardPasses(Found found) : found_(std::move(found)) {}

  // A process that trains: its loop's thread, and all its threads. Threads of other processes are
  // ignored.
  void add_loop(ThreadId loop, const std::vector<ThreadId>& threads);

  // All ops, in the order of their starts. `in_node`: it lies within a node.
  Status begin(const Op& op, bool in_node);
  Status end();

 private:
  struct Pass {
    ThreadId loop = ThreadId::kNone;
    std::optional<TimeRange> open;
  };

  Status close(Pass& pass, SessionTime at_latest);

  Found found_;
  std::vector<Pass> passes_;
  std::unordered_map<ThreadId, std::size_t> pass_of_;
};

}  // namespace stepscope

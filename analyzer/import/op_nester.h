// Converts ops sorted by start to the form of a store: per thread sorted by end, each with its
// depth, its self time and its phase.
//
// Thread safety: none. Memory: the ops that are open.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/events.h"
#include "store/status.h"

namespace stepscope {

class OpNester {
 public:
  // `finish`: takes each op when it has ended; threads interleave by time.
  explicit OpNester(std::function<Status(const Op&)> finish) : finish_(std::move(finish)) {}

  // Computes the self time and depth of `op`. Its phase is the one that it marks itself; kNone
  // inherits the phase of the enclosing op.
  //
  // An op that begins inside another and ends after it does not fit into a tree (a range closed on
  // another thread, two clocks). Its end is cut to that of the enclosing op. `cut()` does not count
  // overlaps that the rounding of the trace alone explains.
  Status begin(Op op);
  // There are no more ops: ends those still open.
  Status end();

  // Whether `thread` is within an autograd node, now that all ops up to here have begun.
  [[nodiscard]] bool in_node(ThreadId thread) const;
  [[nodiscard]] std::int64_t cut() const { return cut_; }

 private:
  struct OpenOp {
    Op op;
    Duration children{0};
    bool in_node = false;
  };
  using Stack = std::vector<OpenOp>;

  Status pop(Stack& stack);
  Status pop_ended(Stack& stack, SessionTime now);
  Status sweep(SessionTime now);
  Stack& stack_of(ThreadId thread);

  std::function<Status(const Op&)> finish_;
  std::vector<Stack> stacks_;  // by thread id
  std::int64_t begun_ = 0;
  std::int64_t cut_ = 0;
};

}  // namespace stepscope

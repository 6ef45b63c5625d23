// From ops in the order of their starts to ops as a store has them: of one thread in the order of
// their ends, each with its depth, its self time and the phase it ran in.
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

  // `op`: its self time and depth are made here. Its phase is what it marks by itself; kNone takes
  // over that of the op around it.
  //
  // An op that begins in another and ends after it has no place in a tree (a range that was closed
  // on another thread, two clocks). Its end is cut to that of the op around it. By how much a
  // trace's rounding alone may do that, `cut()` does not count.
  Status begin(Op op);
  // No more ops: what is open ends.
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

// What each op (or kernel) cost per block of steps, not only in total: a comparison of two runs
// needs to know how much that varies.
//
// Memory: at most 2 × kMaxOpBlocks blocks, each with the ops that occurred in it. Beyond that,
// neighbours are joined, and from then on a block holds twice as many steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/attribute/step_account.h"

namespace stepscope {

inline constexpr std::size_t kMaxOpBlocks = 1024;

// Consecutive steps, and the ops in them, in no particular order. There is at most one element for
// each op and phase.
struct OpBlock {
  std::size_t first = 0;  // indexes of steps of the loop
  std::size_t last = 0;
  std::size_t steps = 0;  // how many of first … last were counted
  std::vector<OpCost> ops;
};

class OpSeries {
 public:
  // What happened in the current step.
  void add(const Segment& segment);
  void add_call(StringId name, PhaseKind phase);
  // A call with its full cost.
  void add_whole(StringId name, PhaseKind phase, Duration dur);
  // The step is over; `counted`: it belongs to the series. Steps come in order.
  void end_step(std::size_t step, bool counted);

  // Takes the blocks out and leaves the series empty. The last block may hold fewer steps than the
  // others.
  std::vector<OpBlock> take_blocks();

 private:
  void halve();

  std::vector<OpBlock> blocks_;
  std::size_t stride_ = 1;      // steps in a whole block
  RowsByName<OpCost> current_;  // of the current step
};

}  // namespace stepscope

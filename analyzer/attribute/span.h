// What the phases alone say about a loop thread: each step divided into stretches of one phase.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/steps/find_loops.h"
#include "store/events.h"

namespace stepscope {

struct Span {
  TimeRange range;
  PhaseKind phase =
      PhaseKind::kNone;  // kInput, kBackward, kOptimizer or kNone; zero_grad is kOptimizer
  // A forward pass may lie here: before a backward pass of the same step. It begins with the first
  // op.
  bool before_backward = false;
  StringId label = StringId::kNone;  // the innermost user scope around it

  friend bool operator==(const Span&, const Span&) = default;
};

// The spans of each step of `loop`: they tile the parts of the step that lie in no segment.
// `phases` are those of the loop's thread, by start, parents first. A scope that covers a whole
// step says nothing about what happens inside it and is left out there.
std::vector<std::vector<Span>> lay_out_spans(const std::vector<Phase>& phases, const Loop& loop);

}  // namespace stepscope

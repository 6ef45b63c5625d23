// A loop's timeline as a sequence of parts: its phases, and the stretches between them.
#pragma once

#include <cstddef>
#include <vector>

#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

enum class LoopPart : std::uint8_t { kInput, kForward, kBackward, kOptimizer, kOther };
inline constexpr std::size_t kLoopPartCount = 5;

struct LoopStretch {
  TimeRange range;
  LoopPart part = LoopPart::kOther;
  bool marked = false;  // else it lies between two phases
  // Where it begins and ends is what steps with ops say about a step without: on average right.
  bool estimated = false;

  friend bool operator==(const LoopStretch&, const LoopStretch&) = default;
};

// The parts of each step of a loop that lie in no segment, in order.
using StepStretches = std::vector<std::vector<LoopStretch>>;

// The part that has the time of `phase` in a step (StepTime::phase).
LoopPart part_with(PhaseKind phase);

// Appends `range` to the parts of a step. It continues the last one if it can.
void add_stretch(std::vector<LoopStretch>& stretches, TimeRange range, PhaseKind phase,
                 bool estimated = false);

// The parts that tile `range`, in order; some are empty. The time between a batch and its backward
// pass or update is its forward pass. An update inside a backward pass divides that pass. `phases`:
// those of the loop thread, by start.
//
// Marks alone do not say where a forward pass begins. Whatever divides the time of a step needs
// AttributedLoop::stretches, which the ops cut.
std::vector<LoopStretch> loop_stretches(const std::vector<Phase>& phases, TimeRange range);

}  // namespace stepscope

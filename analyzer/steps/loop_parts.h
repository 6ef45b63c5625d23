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
};

// The parts that tile `range`, in order; some are empty. The time between a batch and its backward
// pass or update is its forward pass. An update inside a backward pass divides that pass. `phases`:
// those of the loop thread, by start.
std::vector<LoopStretch> loop_stretches(const std::vector<Phase>& phases, TimeRange range);

}  // namespace stepscope

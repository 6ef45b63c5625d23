// Marked closures of optimizer steps: PhaseKind::kForward inside an optimizer step.
#pragma once

#include <vector>

#include "store/events.h"

namespace stepscope {

// `phases` of a thread, by start, with each optimizer step that has marked closures replaced by the
// pieces around them: what runs in a closure lies in no optimizer step.
std::vector<Phase> without_closures(const std::vector<Phase>& phases);

}  // namespace stepscope

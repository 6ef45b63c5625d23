// Unmarked closures of optimizer steps: in imported traces, in older recordings, and in those of
// optimizers that Stepscope does not know. steps/closures.h has the marked ones.
#pragma once

#include <vector>

#include "analyzer/attribute/span.h"
#include "store/events.h"

namespace stepscope {

// Inside an optimizer step that runs backward passes, the time before the first of them is the
// forward pass of the closure: the part on the longer side of its zero_grad. After a backward pass,
// the optimizer's own work comes first. Which part of the time up to the next backward pass is
// again a forward pass depends on when the closure clears the gradients, which the first pass
// shows:
//
//   zero_grad first   step │ zero_grad  forward  backward │ own work  zero_grad  forward  backward
//   in the middle     step │ forward  zero_grad  backward │ forward   zero_grad  backward
//
// Without zero_grad, all of that time is the optimizer's. `spans` tile a step; `phases` are those
// that touch it, by start.
void mark_unmarked_closures(std::vector<Span>& spans, const std::vector<Phase>& phases);

}  // namespace stepscope

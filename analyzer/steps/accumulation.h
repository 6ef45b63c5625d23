// Gradient accumulation: several batches of a loader that make one optimizer step are one step.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/steps/find_loops.h"
#include "store/events.h"

namespace stepscope {

// Those of `waits` (by start, from waits_of_steps()) whose batch is trained on. If several waits
// come before the backward passes on their batches (an evaluation, a trainer that fetches all
// batches of a step at once), the last of them count, as many as the number of passes suggests.
std::vector<Phase> trained_waits(const std::vector<Phase>& phases, const std::vector<Phase>& waits);

// The steps of a loop that accumulates gradients. A step has all the batches of one optimizer step,
// from the start of the wait for the first batch to the start of the next step. Empty if the
// optimizer steps for each batch, or is not seen. Batches at the end without an optimizer step form
// no step.
//
// If gradients are cleared without an optimizer step, that step was skipped. A step ends there too,
// unless the program clears gradients more than once per step.
std::vector<TimeRange> accumulated_steps(const std::vector<Phase>& phases,
                                         const std::vector<Phase>& waits);

// The usual number of batches per step of `loop`: in training, of those that are trained on; in
// inference, of all. Without a loader: the number of backward passes per optimizer step, or 1 if
// they run in its closure. 0: unknown.
std::int64_t batches_per_step(const std::vector<Phase>& phases, const Loop& loop);

}  // namespace stepscope

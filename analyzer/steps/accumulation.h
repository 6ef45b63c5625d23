// Gradient accumulation: several batches of a loader that make one optimizer step are one step.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/steps/find_loops.h"
#include "store/events.h"

namespace stepscope {

// The waits whose batch is trained on, of `waits` (by start; those that waits_of_steps() returns).
// Of several waits before the backward passes on their batches (an evaluation, a trainer that
// fetches all batches of a step at once) the last are; as many as the passes tell.
std::vector<Phase> trained_waits(const std::vector<Phase>& phases, const std::vector<Phase>& waits);

// Where the loop accumulates gradients: steps of all the batches that make one optimizer step, from
// the start of the first one's wait to the start of the next step's. Empty where the optimizer
// steps for each batch, or is not seen. Batches at the end without an optimizer step are no step.
//
// Gradients that were cleared without an optimizer step were skipped: a step ends there too, unless
// the program clears them more often than once a step.
std::vector<TimeRange> accumulated_steps(const std::vector<Phase>& phases,
                                         const std::vector<Phase>& waits);

// The usual number of batches that make one step of `loop`: those that are trained on, in inference
// all; without a loader the backward passes that end in one optimizer step, and 1 where they are in
// its closure. 0: unknown.
std::int64_t batches_per_step(const std::vector<Phase>& phases, const Loop& loop);

}  // namespace stepscope

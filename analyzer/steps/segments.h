// Finds what a training loop does besides training: evaluations, checkpoints, and the time between
// two epochs. None of it is a step's time.
//
// Segments lie in the pauses of a loop: between a backward pass, optimizer step or zero_grad and
// the next one. They come from marks alone, so they are the same in steps with and without ops. In
// a pause, the following count (docs/attribution.md, "Segments"):
// - evaluation: from eval() of a model to train(), or to the wait for the next training batch; a
//   scope of such a name; or several batches that are not trained on;
// - checkpoint: torch.save(), or a scope of such a name;
// - between epochs: from where the training loader was exhausted to where it is asked again.
// What occurs in most of the pauses is part of the loop's steps.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"
#include "store/analysis.h"

namespace stepscope {

// All phases of the run except the waits for batches of evaluations, as far as modes and scopes
// show these. find_loops() may use them to find steps.
std::vector<Phase> training_phases(const RecordedRun& recording);

// The segments of the thread of `loop`, in order. `phases` and `modes` are those of that thread, by
// start. Empty for a loop that does not train.
std::vector<LoopSegment> find_segments(const std::vector<Phase>& phases,
                                       const std::vector<Phase>& modes, const Loop& loop,
                                       const std::function<std::string_view(StringId)>& text);

// Fills Loop::segments, and removes from the loops what lies in a segment: steps (if the user also
// marks those of evaluations) and inferred input.
void find_segments(const RecordedRun& recording, std::vector<Loop>& loops);

}  // namespace stepscope

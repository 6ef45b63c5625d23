// Input where no loader was seen: what a training loop does between the end of an optimizer step
// and the first op of the next forward pass is preparing the batch.
//
// The forward pass begins with the first op that creates an autograd node. It can be found exactly:
// with autograd on, an op carries the number that the next node of its thread will get
// (at::RecordFunction::seqNr), so the last op that still has the old number is the one that made
// the first node. docs/attribution.md, "Inferred input", says what is left out, and why.
//
// A loop that never trains creates no nodes. If a sampler marks its batches, its input is inferred
// from those marks (SamplerInput).
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Fills Loop::input of the loops that need it. Reads the ops once more if any loop does.
//
// Memory: a loop thread's ops of one forward pass. Fails only when reading the ops fails.
Status infer_input(const RecordedRun& recording, std::vector<Loop>& loops);

// Whether the input of `loop` must be inferred: it waits for no loader, and trains or has only its
// sampler's marks.
bool lacks_loader(const RecordedRun& recording, const Loop& loop);

}  // namespace stepscope

// Input where no loader was seen: what a training loop does between the end of an optimizer step
// and the first op of the next forward pass is preparing the batch.
//
// The forward pass begins with the first op that creates an autograd node. It can be found exactly:
// with autograd on, an op carries the number that the next node of its thread will get
// (at::RecordFunction::seqNr), so the last op that still has the old number is the one that made
// the first node. docs/attribution.md, "Inferred input", tells what is left out, and why.
//
// A loop that never trains makes no nodes. When a sampler marks its batches, these tell what they
// can (SamplerInput).
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Fills Loop::input of those that need it. Reads the ops once more, when any loop does.
//
// Memory: a loop thread's ops of one forward pass. Fails only when reading the ops fails.
Status infer_input(const RecordedRun& recording, std::vector<Loop>& loops);

// Whether `loop` is one whose input has to be inferred: it waits for no loader, and trains or has
// only its sampler's marks.
bool lacks_loader(const RecordedRun& recording, const Loop& loop);

}  // namespace stepscope

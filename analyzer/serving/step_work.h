// How much a step computes, where the program marks the lengths of its samples.
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// What each step of `loop` computes, as a multiple of its median step: of elements or of pairs of
// elements (serving/lengths.h), whichever is more. 1 for a step without a mark; empty where no step
// has one.
std::vector<double> step_work(const RecordedRun& recording, const Loop& loop);

}  // namespace stepscope

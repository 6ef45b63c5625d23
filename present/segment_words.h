// What a training loop does besides its steps, in words.
#pragma once

#include <string>

#include "analyzer/facts/run_use.h"

namespace stepscope {

// "checkpoints", "evaluation", "the time between epochs"
const char* segment_words(SegmentKind kind);

// A sentence on the segments that take kSegmentJudged of the run; "": none does.
std::string segments_sentence(const RunUse& use);

}  // namespace stepscope

// What a training loop does besides its steps, in words.
#pragma once

#include <string>

#include "analyzer/facts/run_use.h"

namespace stepscope {

// "checkpoints", "evaluation", "the time between epochs"
const char* segment_words(SegmentKind kind);

// Sentences on the segments that take at least kSegmentJudged of the run; "" if none does.
std::string segments_sentence(const RunUse& use);

}  // namespace stepscope

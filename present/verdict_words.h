// The verdict on a loop in sentences.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// What the deciding share is a share of: "of the step waits for input".
std::string verdict_clause(const LoopReport& loop);

// One sentence each: the reasons, and what else is worth mentioning.
std::vector<std::string> verdict_reasons(const LoopReport& loop);

// The whole verdict: "63.1 % of the step waits for input. The loop thread …". "" for a run without
// loops.
std::string verdict_sentence(const LoopReport& loop);

// Why the confidence is not high: "only 12 steps".
std::vector<std::string> verdict_doubts(const LoopReport& loop);

// "launch", "memory pressure": a share that is near a threshold.
std::string threshold_name(const Stall& stall);

}  // namespace stepscope

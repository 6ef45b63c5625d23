// The ranks of a distributed run beside one another: which of them the others wait for.
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// From which share of the step on a difference between ranks is one: below it, it is noise.
inline constexpr double kLeastRankGap = 0.05;

// Compares the ranks that have a loop, each by its loop with the most step time. Nothing for fewer
// than two. Collectives make all ranks as slow as the slowest, so step times are equal; what a rank
// does in its step besides communicating is not. docs/attribution.md, "Ranks".
std::optional<RankReport> compare_ranks(const std::vector<LoopReport>& loops);

}  // namespace stepscope

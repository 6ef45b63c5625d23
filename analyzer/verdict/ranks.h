// Compares the ranks of a distributed run: which of them do the others wait for?
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// Differences between ranks below this share of the step are noise.
inline constexpr double kLeastRankGap = 0.05;

// Compares the ranks that have a loop, each by its loop with the most step time. Nothing for fewer
// than two. Collectives make all ranks as slow as the slowest, so the step times are equal; the
// work that a rank does in a step besides communication is not. docs/attribution.md, "Ranks".
std::optional<RankReport> compare_ranks(const std::vector<LoopReport>& loops);

}  // namespace stepscope

// Compares the ranks of a distributed run: which of them do the others wait for, and for what?
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/report.h"
#include "store/status.h"

namespace stepscope {

// Compares the ranks that have a loop, each by its loop with the most step time, which come first
// in `loops`. Nothing for fewer than two. Collectives make all ranks as slow as the slowest, so the
// step times are equal; the work that a rank does in a step besides communication is not.
// docs/attribution.md, "Ranks".
//
// Fills rank_wait of these loops, and judges them by it (rank_wait.h). The order of `loops` becomes
// that of AnalysisReport::loops. `only`: the steps that the user requested.
std::optional<RankReport> compare_ranks(std::vector<LoopReport>& loops,
                                        const std::optional<StepSpan>& only);

// Keeps the loops of one rank; what was found by comparing all of them stays. Errors: kUsage, if
// the run has no such rank.
Status keep_rank(AnalysisReport& report, std::int64_t rank);

}  // namespace stepscope

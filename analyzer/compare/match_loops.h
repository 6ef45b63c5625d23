// Matches the loops of one run with those of another.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

struct LoopMatch {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // indexes in a, in b; in the order of a
  std::vector<std::size_t> only_in_a;
  std::vector<std::size_t> only_in_b;
};

// Loops with the same rank and device match; of several, those with the most step time come first,
// which is the order of the input. The remaining loops are matched by rank alone (another device),
// and finally in order (a run without ranks against one with ranks).
LoopMatch match_loops(const std::vector<LoopReport>& a, const std::vector<LoopReport>& b);

}  // namespace stepscope

// Which loop of one run is which of the other.
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

// Loops of the same rank and device belong together, and of several those with the most step time
// first, which is the order they come in. What is left then is matched by rank alone (another
// device), and at last in that order (a run without ranks against one with).
LoopMatch match_loops(const std::vector<LoopReport>& a, const std::vector<LoopReport>& b);

}  // namespace stepscope

// Compares the lines of the program in two runs: the time that each took in a step of either.
//
// Thread safety: a pure function.
#pragma once

#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// One run's side of a comparison.
struct LinesOfRun {
  const RunFacts& run;
  const LoopReport& loop;
};

// `phases`: the comparison of the phases of the same two loops. Nothing if either run has too few
// samples (LineUse::kEnough) of the threads in question. If the code was edited between the runs,
// the lines of a function are matched with the shift that fits most of its time.
std::vector<LineDifference> compare_lines(const LinesOfRun& a, const LinesOfRun& b,
                                          const std::vector<PartDifference>& phases);

}  // namespace stepscope

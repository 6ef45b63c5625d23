// The lines of the program in two runs, and what each took in a step of either.
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

// `phases`: the same two loops', compared. Nothing where either run has too few samples
// (LineUse::kEnough) of the threads in question. Of code that was edited between the runs, the
// lines of a function are matched as far below one another as fits most of its time.
std::vector<LineDifference> compare_lines(const LinesOfRun& a, const LinesOfRun& b,
                                          const std::vector<PartDifference>& phases);

}  // namespace stepscope

// Two analysed runs beside one another: what changed, by how much, and whether that is noise.
//
// docs/comparing.md tells the method.
#pragma once

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// Over the analysed steps of each loop of `a` and its partner in `b`. Ops and phases need
// reports that hold their course (AnalyzeOptions::op_samples). A report without loops has nothing
// to compare: the result then has none either.
Comparison compare(const AnalysisReport& a, const AnalysisReport& b);

}  // namespace stepscope

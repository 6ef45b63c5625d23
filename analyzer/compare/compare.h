// Compares two analysed runs: what changed, by how much, and whether that is noise.
//
// docs/comparing.md describes the method.
#pragma once

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// Compares the analysed steps of each loop of `a` with those of its counterpart in `b`. Ops and
// phases need reports with per-block figures (AnalyzeOptions::op_samples). If a report has no
// loops, neither has the result.
Comparison compare(const AnalysisReport& a, const AnalysisReport& b);

}  // namespace stepscope

// The page that `stepscope compare` prints: the answer first, then what moved, then the gates.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"
#include "analyzer/report.h"
#include "present/cost.h"

namespace stepscope::cli {

// A run of a comparison.
struct ComparedRun {
  std::string path;
  AnalysisReport report;
};

struct ComparisonView {
  const ComparedRun& a;
  const ComparedRun& b;
  const Comparison& comparison;  // has loops
  const std::vector<GateOutcome>& gates;
  int top = 10;  // ops listed at most
  Price price_a = {}, price_b = {};
};

// No line is wider than 100 characters. Ends in a newline.
std::string comparison_text(const ComparisonView& view, bool color);

}  // namespace stepscope::cli

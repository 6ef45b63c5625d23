// Two runs and what differs between them, as the page and the JSON document show it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"
#include "analyzer/report.h"
#include "present/cost.h"

namespace stepscope {

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

}  // namespace stepscope

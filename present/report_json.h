// The machine-readable contract "stepscope.analysis/1": docs/cli.md lists the keys.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/cost.h"

namespace stepscope {

// The number of ops, kernels and slowest steps on the page of a run.
inline constexpr int kPageTop = 100;

// One JSON document, indented, ending in a newline. `top`: how many ops and slowest steps it lists.
std::string json_report(const AnalysisReport& report, int top, const Price& price = {});

}  // namespace stepscope

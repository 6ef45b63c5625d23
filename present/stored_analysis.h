// Puts an analysis into the rows and sentences that the store keeps.
#pragma once

#include "analyzer/report.h"
#include "store/analysis.h"

namespace stepscope {

// The rows to write back with TraceWriter::replace_analysis().
Analysis to_analysis(const AnalysisReport& report);

}  // namespace stepscope

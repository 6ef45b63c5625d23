// What `stepscope run` prints about a recording, while it runs and at its end.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "profiler/recorder/run_recorder.h"

namespace stepscope {

// "stepscope: step 1,204 · 4.8 ms a step · input 63 % · 1.2 M events · nothing lost"
std::string live_text(const RunProgress& progress);

// Lines of a page: what the analysis of the recording `store` found. `stored`: whether the analysis
// was written into the store.
std::string run_summary(const std::string& store, const AnalysisReport& report,
                        const Status& stored);
// The same for a recording that is too long to be analysed before the prompt returns.
std::string long_run_summary(const std::string& store, const RunProgress& progress);

}  // namespace stepscope

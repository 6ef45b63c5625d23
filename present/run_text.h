// What `stepscope run` says of a recording while it goes on and when it is over.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "profiler/recorder/run_recorder.h"

namespace stepscope {

// "stepscope: step 1,204 · 4.8 ms a step · input 63 % · 1.2 M events · nothing lost"
std::string live_text(const RunProgress& progress);

// Lines of a page: what the analysis of the recording `store` found. `stored`: whether it is in the
// store now.
std::string run_summary(const std::string& store, const AnalysisReport& report,
                        const Status& stored);
// The same of a recording that is too long to be analysed before the prompt comes back.
std::string long_run_summary(const std::string& store, const RunProgress& progress);

}  // namespace stepscope

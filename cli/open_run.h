// Opening and analyzing runs, for verbs: on a terminal, standard error says how far they are.
#pragma once

#include <string>

#include "analyzer/analyze.h"
#include "analyzer/import/opened_run.h"

namespace stepscope::cli {

// Says how far an import is that takes more than a second; `label` tells one of several runs from
// another ("A"). Errors: those of OpenedRun::open().
Result<OpenedRun> open_run(const std::string& path, const std::string& label = "");
// The same without a reader.
Result<OpenedRun> open_run_to_follow(const std::string& path);

// Says how far the analysis is once that has taken more than two seconds. `options.progress` is
// replaced. Errors: those of analyze().
Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label = "");

}  // namespace stepscope::cli

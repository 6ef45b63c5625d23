// Opens and analyzes runs for the verbs. If standard error is a terminal, it shows the progress.
#pragma once

#include <string>

#include "analyzer/analyze.h"
#include "analyzer/import/opened_run.h"

namespace stepscope::cli {

// Shows the progress of an import that takes more than a second. `label` distinguishes several runs
// ("A"). Errors: those of OpenedRun::open().
Result<OpenedRun> open_run(const std::string& path, const std::string& label = "");
// The same, but closes the reader.
Result<OpenedRun> open_run_to_follow(const std::string& path);

// Shows the progress of an analysis that takes more than two seconds. Replaces `options.progress`.
// Errors: those of analyze().
Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label = "");

}  // namespace stepscope::cli

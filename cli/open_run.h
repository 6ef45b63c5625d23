// A run as a verb is given it: a path. Today that is a store; the one place to teach about others.
#pragma once

#include <string>

#include "analyzer/analyze.h"

namespace stepscope::cli {

// Opens what is at `path` and analyses it. On a terminal, once that has taken more than two
// seconds, standard error says how far it is; `label` tells one of several runs from another ("A").
// `options.progress` is replaced. Errors: those of TraceReader::open() and analyze().
Result<AnalysisReport> analyze_run(const std::string& path, AnalyzeOptions options,
                                   const std::string& label = "");
// The same for one that is open already, and stays so.
Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label = "");

// The steps of an option such as --steps; nothing for "". Errors: kUsage, naming the option.
Result<std::optional<StepSpan>> read_step_window(const char* option, const std::string& text);

}  // namespace stepscope::cli

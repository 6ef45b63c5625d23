// What `stepscope run` says while it runs and when it is over.
#pragma once

#include <string>

#include "profiler/recorder/run_recorder.h"

namespace stepscope::cli {

// "step 1,204 · 4.8 ms a step · input 63 % · 1.2 M events · nothing lost"
std::string live_text(const RunProgress& progress);

// Analyses the store, keeps the result in it, and prints the verdict in a few lines on stderr. A
// long recording is not analysed here: who waits for a prompt should not wait for that.
void print_summary(const std::string& store, const RunProgress& progress);

}  // namespace stepscope::cli

// What `stepscope run` does with a recording once it is over.
#pragma once

#include <string>

#include "profiler/recorder/run_recorder.h"

namespace stepscope::cli {

// Analyses the store, keeps the result in it, and prints the verdict in a few lines on stderr. A
// long recording is not analysed here: who waits for a prompt should not wait for that.
void print_summary(const std::string& store, const RunProgress& progress);

}  // namespace stepscope::cli

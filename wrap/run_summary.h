// What `stepscope run` does with a recording once it is over.
#pragma once

#include <string>

#include "profiler/recorder/run_recorder.h"
#include "store/status.h"

namespace stepscope {

// Analyses the store, keeps the result in it, and prints the verdict in a few lines on stderr. Does
// not analyse a long recording, because the user is waiting for the prompt. Returns whether the
// store now contains its analysis.
bool print_summary(const std::string& store, const RunProgress& progress);

// The same without output, however long the recording is. Errors: those of reading and writing.
Status analyze_and_keep(const std::string& store);

}  // namespace stepscope

// What `stepscope run` does with a recording once it is over.
#pragma once

#include <string>

#include "profiler/recorder/run_recorder.h"
#include "store/status.h"

namespace stepscope {

// Analyses the store, keeps the result in it, and prints the verdict in a few lines on stderr. A
// long recording is not analysed here: who waits for a prompt should not wait for that.
// Returns whether the store holds its analysis now.
bool print_summary(const std::string& store, const RunProgress& progress);

// The same without a word, however long the recording is. Errors: those of reading and writing.
Status analyze_and_keep(const std::string& store);

}  // namespace stepscope

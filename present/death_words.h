// How processes and recordings ended, in words.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// "Process 12 (train.py) was killed by SIGKILL (9) in step 41, in aten::addmm on thread main; …"
// `process` must have died.
std::string death_sentence(const ProcessReport& process);

// One for each process that died, in order of death.
std::vector<std::string> death_sentences(const AnalysisReport& report);

// How the recording ended before the program did, or "".
std::string gap_sentence(const RunFacts& run);

// Why a run has no loops, and which of its processes died.
std::string no_steps_text(const AnalysisReport& report);

// "forward 1.20 GB, other 300 MB": the largest first; parts below a twentieth are left out.
std::string owners_text(const HeldTensors& memory);

}  // namespace stepscope

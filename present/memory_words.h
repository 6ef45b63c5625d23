// The growth of a process's memory in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// "grows by 1.05 MB a step: 261 MB over 249 steps, 543 MB at the last reading"; "" if the memory of
// the loop's process grows by too little to be reported, or is unknown.
std::string memory_growth_text(const AnalysisReport& report, const LoopReport& loop);

}  // namespace stepscope

// The verdict about one loop, in figures and in words.
#pragma once

#include "analyzer/report.h"

namespace stepscope {

// Fills verdict (without its advice), clause, reasons and doubts, and the kinds of the steps and of
// the populations, from what the report holds already: the steps with their times, the analysed
// ones, shares, phases, input, memory, ops, populations and drift. `lost`: events of the run that
// were not recorded; `op_count`: those that were.
void judge(LoopReport& report, std::int64_t op_count, std::int64_t lost);

}  // namespace stepscope

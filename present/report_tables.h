// The tables of a loop's page: its slowest steps, and its largest ops, kernels and copies. At most
// `top` rows each; "" if there are none.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// At most three: the steps that took much longer than the others.
std::string slowest_steps(const LoopReport& loop, int top);
// `whole`: totals, for a recording without steps.
std::string top_ops(const LoopReport& loop, int top, bool whole = false);
std::string top_kernels(const LoopReport& loop, int top);
std::string copies_table(const LoopReport& loop, int top);

}  // namespace stepscope

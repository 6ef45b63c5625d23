// The tables of a loop's page: its slowest steps, and its largest ops, kernels and copies. At most
// `top` rows each; "" where there are none.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// Three at most, those that took much longer than the others.
std::string slowest_steps(const LoopReport& loop, int top);
// `whole`: of a recording without steps, in all.
std::string top_ops(const LoopReport& loop, int top, bool whole = false);
std::string top_kernels(const LoopReport& loop, int top);
std::string copies_table(const LoopReport& loop, int top);

}  // namespace stepscope

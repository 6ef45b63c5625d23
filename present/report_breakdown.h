// Where the time of a loop's mean step goes.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/cost.h"
#include "present/terminal_text.h"

namespace stepscope {

// "step time 4.82 ms   p50 4.79 ms   …"
std::string step_time_line(const LoopReport& loop, const Palette& palette);
// A line for each category, the largest first.
std::string category_lines(const LoopReport& loop);
// The step time, its categories, its phases, and the padding of its batches.
std::string breakdown(const LoopReport& loop, const Palette& palette);
// "cost      12.6 for a million samples, at 1.20 an hour and 16 samples a call"; "" without a
// price.
std::string cost_line(const LoopReport& loop, const Price& price);

}  // namespace stepscope

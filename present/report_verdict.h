// What a loop is bound by, its kinds of step, and what would help.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/terminal_text.h"

namespace stepscope {

// The verdict with its interval, the reasons for it and the doubts about it.
std::string verdict_lines(const LoopReport& loop, const Palette& palette);
// A line for each kind of step; "" if all steps are of one kind.
std::string population_table(const LoopReport& loop);
// What would help, and by how much; or why nothing is predicted.
std::string advice_table(const LoopReport& loop);

}  // namespace stepscope

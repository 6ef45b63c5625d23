// The ranks of a distributed run as a table of its page.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/terminal_text.h"

namespace stepscope {

// Which rank the others wait for, and how often; with `table`, also a row for each rank. "" if
// there is one rank.
std::string ranks_block(const AnalysisReport& report, const Palette& palette, bool table);

}  // namespace stepscope

// The lines of the program that a loop's time went to, in words.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/report_words.h"
#include "present/terminal_text.h"

namespace stepscope {

// "data.py:41 Images.__getitem__": the path from the run's folder where it is below that.
std::string line_text(const LineShare& line, const RunFacts& run);

// Under a verdict: the three lines that matter most for it. "" where nothing is known.
// As wide as a page, or as `width`.
std::string lines_block(const RunFacts& run, const LoopReport& loop, const Palette& palette,
                        std::size_t width = kPageWidth);

}  // namespace stepscope

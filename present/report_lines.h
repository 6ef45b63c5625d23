// The lines of the program that a loop's time went to, in words.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/report_words.h"
#include "present/terminal_text.h"

namespace stepscope {

// "data.py:41 Images.__getitem__": a path below the run's folder is relative to it.
std::string line_text(const LineShare& line, const RunFacts& run);

// The block under a verdict: the three lines that matter most for it. "" if nothing is known. At
// most `width` characters wide.
std::string lines_block(const RunFacts& run, const LoopReport& loop, const Palette& palette,
                        std::size_t width = kPageWidth);

}  // namespace stepscope

// The modules of a loop's model, in words.
#pragma once

#include <string>

#include "analyzer/report.h"
#include "present/report_words.h"
#include "present/terminal_text.h"

namespace stepscope {

// `stepscope analyze --modules`: the tree of each loop's modules. No line is wider than a page.
// Ends in a newline.
std::string modules_text(const AnalysisReport& report, const Palette& palette);

}  // namespace stepscope

// The page that `stepscope analyze` prints: the verdict first, then why, then what to do, then
// where to look.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/report.h"
#include "present/cost.h"

namespace stepscope {

struct TextOptions {
  std::string store = "run.db";  // for the commands that the page names
  bool imported = false;         // `store` is a trace, imported for this command only
  bool one_rank = false;         // only the loops of one rank are in the report (keep_rank)
  bool color = false;
  Price price;
  int top = 5;  // ops and slowest steps listed at most
};

// "mnist (1a2b3c4) · steps 500–520 of 938 · libtorch 2.13.0 · 2 cores · nothing lost"; without the
// commit if the line would be wider than `width`. `loop`: the loop whose process and steps are
// shown; null: none was found.
std::string run_header(const AnalysisReport& report, const LoopReport* loop,
                       std::size_t width = 100);

// No line is wider than 100 characters. Ends in a newline.
std::string text_report(const AnalysisReport& report, const TextOptions& options);

}  // namespace stepscope

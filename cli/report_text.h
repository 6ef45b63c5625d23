// The page that `stepscope analyze` prints: the verdict first, then why, then what to do, then
// where to look.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope::cli {

struct TextOptions {
  std::string store = "run.db";  // for the commands that the page names
  bool color = false;
  int top = 5;  // ops and slowest steps listed at most
};

// No line is wider than 100 characters. Ends in a newline.
std::string text_report(const AnalysisReport& report, const TextOptions& options);

}  // namespace stepscope::cli

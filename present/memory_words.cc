#include "present/memory_words.h"

#include <algorithm>

#include "analyzer/words.h"

namespace stepscope {

std::string memory_growth_text(const AnalysisReport& report, const LoopReport& loop) {
  const auto process = std::ranges::find(report.processes, loop.process, &ProcessReport::id);
  if (process == report.processes.end() || !process->grows) return "";
  const std::int64_t steady = std::ranges::count_if(loop.steps, &Step::steady);
  const double grown = process->rss_growth_per_step * static_cast<double>(steady);
  // A program that ends with an exception frees memory as it unwinds.
  const bool freed = process->rss_bytes < grown;
  const std::string held = freed ? "at most " + bytes_text(process->rss_peak_bytes)
                                 : bytes_text(process->rss_bytes) + " at the last reading";
  return "grows by " + bytes_text(process->rss_growth_per_step) +
         in_units(" a step: ", loop.unit()) + bytes_text(grown) + " over " + count_text(steady) +
         " " + loop.unit() + "s, " + held;
}

}  // namespace stepscope

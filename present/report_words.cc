#include "present/report_words.h"

#include <algorithm>
#include <cctype>

#include "analyzer/words.h"

namespace stepscope {

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string verdict_title(const Verdict& verdict) {
  std::string text = verdict.degree.empty() ? verdict.kind : verdict.degree + " " + verdict.kind;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string unit_text(const char* phrase, const LoopReport& loop) {
  return in_units(phrase, loop.unit());
}

double steps_of(const LoopReport& loop) {
  return static_cast<double>(std::max<std::size_t>(loop.analysed.size(), 1));
}

std::string step_range(const LoopReport& loop) {
  const std::int64_t first = loop.steps[loop.analysed.front()].number;
  const std::int64_t last = loop.steps[loop.analysed.back()].number;
  const std::string range = first == last ? unit_text("step ", loop) + std::to_string(first)
                                          : unit_text("steps ", loop) + std::to_string(first) +
                                                "–" + std::to_string(last);
  const std::int64_t begin = loop.steps.front().number;
  return range + " of " + (begin == 1 ? "" : std::to_string(begin) + "–") +
         std::to_string(loop.steps.back().number);
}

std::string device_text(const LoopReport& loop) {
  return "cuda:" + std::to_string(loop.device_number) + " " + loop.device_name;
}

}  // namespace stepscope

#include "present/report_words.h"

#include <algorithm>

#include "analyzer/words.h"
#include "store/utf8.h"

namespace stepscope {

std::string verdict_title(const LoopVerdict& verdict) {
  return in_capitals(verdict.degree.empty() ? verdict.kind : verdict.degree + " " + verdict.kind);
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

std::string recording_text(const LoopReport& loop) {
  if (!loop.ops_recorded) return "";
  const RecordingCost& cost = loop.recording;
  if (cost.ops.op_steps == 0 || cost.ops.plain_steps == 0)
    return unit_text("ops in every step: these figures include what recording them cost", loop);
  return "ops in " + percent_text(cost.op_step_share) + unit_text(" of the steps", loop) +
         " cost " + percent_text(cost.run_share) + " of the run" +
         (cost.removed ? "; these figures leave it out" : "");
}

std::string device_text(const LoopReport& loop) {
  return "cuda:" + std::to_string(loop.device_number) + " " + loop.device_name;
}

}  // namespace stepscope

// A function of the program takes much of the input wait, or of what the loop does between its
// phases.
#include <string>
#include <utility>

#include "analyzer/advise/line_speedup.h"
#include "analyzer/advise/rules.h"
#include "analyzer/lines/own_code.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kLeastOfCategory = 0.3;  // less is not where to begin
constexpr double kTwice = 2;

std::string place_text(const LineShare& line, const AdviceContext& context) {
  return told_file(line.file, context.recording.facts.working_folder) + ":" +
         std::to_string(line.line);
}

std::optional<Advice> advice_for(const AdviceContext& context, LinePlace place,
                                 const char* category, std::int64_t samples, const char* of_what) {
  const auto functions = functions_in(context.report, place, category);
  if (samples < LineUse::kEnough || functions.empty()) return std::nullopt;
  const FunctionShare& function = functions.front();
  if (function.share < kLeastOfCategory) return std::nullopt;
  const auto predicted = step_with_faster(context, place, category, function.share, kTwice);
  if (!predicted) return std::nullopt;
  Advice advice;
  advice.rule = "faster-line";
  advice.title = "make " + function.top.function + " twice as fast";
  advice.why =
      place_text(function.top, context) + ": it takes " + percent_text(function.share) + of_what;
  if (!function.top.inside.empty()) advice.why += ", most of it in " + function.top.inside;
  if (!function.top.blocked.empty()) advice.why += ", blocked in " + function.top.blocked;
  advice.evidence = {
      function.top.function + " takes " + percent_text(function.share) + of_what, function.share,
      "ratio",
      "SELECT * FROM line_share WHERE thread_id = " + std::to_string(context.loop_thread()) +
          " AND place = '" + line_place_name(place) + "' AND category = '" + category + "'"};
  return with_prediction(context, *predicted, std::move(advice));
}

}  // namespace

std::optional<Advice> faster_line(const AdviceContext& context) {
  const LineUse& use = context.report.line_use;
  if (context.input_matters()) {
    auto advice = advice_for(context, LinePlace::kWorker, "input", use.worker_samples,
                             " of the time in which a batch is made");
    if (!advice)
      advice = advice_for(context, LinePlace::kLoop, "input", use.loop_samples,
                          " of the wait for input");
    return advice;
  }
  return advice_for(context, LinePlace::kLoop, "host", use.loop_samples,
                    " of the time between the phases");
}

}  // namespace stepscope

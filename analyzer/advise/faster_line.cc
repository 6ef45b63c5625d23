// A function of the program takes much of the input wait, or of what the loop does between its
// phases.
#include <string>
#include <utility>

#include "analyzer/advise/line_speedup.h"
#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/lines/own_code.h"

namespace stepscope {
namespace {

constexpr double kMinOfCategory = 0.3;  // a smaller share is not worth starting with
constexpr double kTwice = 2;

std::string place_text(const LineShare& line, const AdviceContext& context) {
  return display_file(line.file, context.recording.facts.working_folder) + ":" +
         std::to_string(line.line);
}

// Such a line would take less time only if the other thread did.
bool waits_for_a_thread(const LineShare& line) { return line.blocked.starts_with("futex"); }

std::string sql_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::optional<AdviceFacts> advice_for(const AdviceContext& context, LinePlace place,
                                      const char* category, LineTime of) {
  const std::int64_t samples = context.report.line_use.samples(place, category);
  const auto functions = functions_in(context.report, place, category);
  if (samples < LineUse::kEnough || functions.empty()) return std::nullopt;
  const FunctionShare& function = functions.front();
  if (function.share < kMinOfCategory) return std::nullopt;
  const LineShare& top = function.top;
  if (waits_for_a_thread(top)) return std::nullopt;
  const auto predicted = function.one_line
                             ? step_with_faster_line(context, top.file, top.line, kTwice)
                             : step_with_faster(context, place, category, function.share, kTwice);
  if (!predicted) return std::nullopt;
  AdviceFacts advice;
  advice.rule = "faster-line";
  advice.facts = FasterLine{place_text(top, context), function.one_line ? "" : top.function,
                            top.inside, top.blocked, of};
  advice.evidence = {EvidenceKind::kAdvice, function.share, "ratio",
                     "SELECT sum(share) FROM line_share WHERE thread_id = " +
                         std::to_string(context.loop_thread()) + " AND place = '" +
                         line_place_name(place) + "' AND category = '" + category +
                         "' AND file = " + sql_text(top.file) +
                         " AND function = " + sql_text(top.function) +
                         (function.one_line ? " AND line = " + std::to_string(top.line) : "")};
  return with_prediction(context, *predicted, std::move(advice));
}

}  // namespace

std::optional<AdviceFacts> faster_line(const AdviceContext& context) {
  if (context.input_matters()) {
    auto advice = advice_for(context, LinePlace::kWorker, "input", LineTime::kBatch);
    // If workers make the batches, the loop's own line only waits for them.
    if (!advice && !loader_option(context.report.input.loader, "num_workers"))
      advice = advice_for(context, LinePlace::kLoop, "input", LineTime::kInputWait);
    return advice;
  }
  return advice_for(context, LinePlace::kLoop, "host", LineTime::kBetweenPhases);
}

}  // namespace stepscope

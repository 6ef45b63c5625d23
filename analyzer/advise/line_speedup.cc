#include "analyzer/advise/line_speedup.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "analyzer/advise/loader_words.h"
#include "analyzer/lines/own_code.h"

namespace stepscope {
namespace {

bool stands_for_its_lines(const LineShare& line, const LoopReport& report) {
  const bool has_name = !line.function.starts_with('<');  // not "<module>" or "<lambda>"
  return !has_name || (line.place == LinePlace::kLoop &&
                       report.line_use.loop_functions.contains({line.file, line.function}));
}

double category_ns(const PhaseMeans& phases, std::string_view category) {
  if (category == "input") return phases.input;
  if (category == "forward") return phases.forward;
  if (category == "backward") return phases.backward;
  if (category == "optimizer") return phases.optimizer;
  return phases.other;
}

}  // namespace

std::vector<FunctionShare> functions_in(const LoopReport& report, LinePlace place,
                                        std::string_view category) {
  std::map<std::tuple<std::string, std::string, std::int64_t>, FunctionShare> functions;
  for (const LineShare& line : report.lines) {
    if (line.place != place || line.category != category || is_library_file(line.file)) continue;
    const bool one_line = stands_for_its_lines(line, report);
    FunctionShare& function = functions[{line.file, line.function, one_line ? line.line : 0}];
    if (function.share == 0) function.top = line;  // lines are sorted by size
    function.one_line = one_line;
    function.share += line.share;
    function.ci_low += line.ci_low;
    function.ci_high = std::min(function.ci_high + line.ci_high, 1.0);
  }
  std::vector<FunctionShare> sorted;
  for (auto& [name, function] : functions) sorted.push_back(std::move(function));
  std::ranges::stable_sort(
      sorted, [](const FunctionShare& a, const FunctionShare& b) { return a.share > b.share; });
  return sorted;
}

std::optional<double> step_with_faster(const AdviceContext& context, LinePlace place,
                                       std::string_view category, double share, double factor) {
  const double step = context.step_ns();
  const double saved = share * (1 - 1 / factor);
  const bool of_input = category == "input";
  if (place == LinePlace::kLoop) {
    // Shortening a wait that delayed no device would gain nothing.
    double ns = category_ns(context.report.phases, category);
    if (of_input) ns = std::min(ns, context.share(Category::kInput) * step);
    return std::max(step - saved * ns, 0.0);
  }
  if (!of_input || !context.input_matters() || !most_steps_wait(context)) return std::nullopt;
  // A worker makes a batch while as many steps pass as there are workers; that whole time shrinks.
  return std::max({step * (1 - saved), context.rest_ns(), least_step_ns(context) * (1 - saved)});
}

std::optional<double> step_with_faster_line(const AdviceContext& context, std::string_view file,
                                            std::int64_t line, double factor) {
  double step = context.step_ns();
  for (const LineShare& known : context.report.lines) {
    if (known.file != file || known.line != line) continue;
    const auto faster = step_with_faster(context, known.place, known.category, known.share, factor);
    if (!faster) return std::nullopt;
    step -= context.step_ns() - *faster;
  }
  return std::max(step, 0.0);
}

}  // namespace stepscope

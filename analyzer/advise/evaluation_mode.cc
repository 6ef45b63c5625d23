// Inference with the model still in training mode: dropout drops, and results are random.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

// What torch.nn's dropout layers call (aten/src/ATen/native/Dropout.cpp). In evaluation mode each
// returns its input.
constexpr std::array<std::string_view, 4> kDropouts = {
    "aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"};

// What they call to choose what is dropped, in training mode only.
constexpr std::array<std::string_view, 3> kChoices = {"aten::bernoulli_", "aten::native_dropout",
                                                      "aten::_fused_dropout"};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The paths inside of dropouts that drop.
PathFlags dropping(const AdviceContext& context) {
  const OpPaths& paths = context.predictor.paths();
  const auto flag = [](PathFlags& flags, OpPath path) {
    flags[static_cast<std::size_t>(path)] = true;
  };
  PathFlags flags(paths.size(), false);
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const auto path = static_cast<OpPath>(i);
    if (!is_among(kChoices, context.recording.text(paths.name(path)))) continue;
    const OpPath around = paths.parent(path);
    const bool called_by_dropout =
        around != OpPath::kTop && is_among(kDropouts, context.recording.text(paths.name(around)));
    if (called_by_dropout) flag(flags, around);
  }
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const OpPath around = paths.parent(static_cast<OpPath>(i));
    if (flags[static_cast<std::size_t>(around)]) flags[i] = true;
  }
  return flags;
}

std::int64_t dropout_calls(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) {
    if (is_among(kDropouts, op.name)) calls += op.calls;
  }
  return calls;
}

}  // namespace

std::optional<Advice> evaluation_mode(const AdviceContext& context) {
  if (context.report.trains) return std::nullopt;
  const PathFlags drops = dropping(context);
  if (std::find(drops.begin(), drops.end(), true) == drops.end()) return std::nullopt;
  const std::int64_t calls = dropout_calls(context.report);
  const double predicted =
      context.predictor.step_ns([&](StepGraph& graph) { remove_ops(graph, drops); });

  Advice advice;
  advice.rule = "evaluation-mode";
  advice.title = "use evaluation mode: eval()";
  advice.why =
      "dropout drops activations in a loop that never trains, and what comes out is random";
  advice.evidence = {
      "dropout was called " + count_text(calls) + " times, and dropped", static_cast<double>(calls),
      "count", "SELECT name, calls, total_ns FROM op_stats WHERE name LIKE 'aten::%dropout%'"};
  // Said however little it saves: it is a mistake first, and slow second.
  advice.predicted_step_ns = std::llround(std::min(predicted, context.step_ns()));
  advice.saves_ns = std::llround(context.step_ns()) - advice.predicted_step_ns;
  return advice;
}

}  // namespace stepscope

// An optimizer that goes through its parameters one by one, with many small ops for each.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr std::int64_t kManyOps = 50;  // a step; a fused optimizer calls one for each group

std::int64_t optimizer_calls(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) {
    if (op.phase == phase_name(PhaseKind::kOptimizer)) calls += op.calls;
  }
  return calls / static_cast<std::int64_t>(report.analysed.size());
}

}  // namespace

std::optional<Advice> fused_optimizer(const AdviceContext& context) {
  const std::int64_t calls = optimizer_calls(context.report);
  if (calls < kManyOps) return std::nullopt;
  const double predicted = context.predictor.step_ns([](StepGraph& graph) {
    remove_launches(graph, [](PhaseKind phase) { return phase == PhaseKind::kOptimizer; });
    remove_host_time(graph, PhaseKind::kOptimizer);
  });

  Advice advice;
  advice.rule = "fused-optimizer";
  advice.title = "use a fused optimizer";
  advice.why = "it runs " + count_text(calls) +
               " ops a step: without getting to each of them, and the time between them";
  advice.evidence = {
      "the optimizer runs " + count_text(calls) + " ops a step", static_cast<double>(calls),
      "count",
      "SELECT name, calls, self_ns FROM op_stats WHERE phase = 'optimizer' ORDER BY calls DESC"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

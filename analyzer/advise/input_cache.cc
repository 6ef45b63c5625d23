// The loop's thread decodes samples during its waits: cache them.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {

std::optional<AdviceFacts> input_cache(const AdviceContext& context) {
  const double busy_share = context.busy_share();
  if (!context.input_matters() || context.report.input.inferred || busy_share < 0.5)
    return std::nullopt;
  const auto collating = paths_inside(context.predictor.paths(), [&](StringId name) {
    return collates(context.recording.text(name));
  });
  const double predicted = context.predictor.step_ns(
      [&](StepGraph& graph) { cache_input(graph, collating, busy_share); });
  const double busy = context.share(Category::kInput) * context.step_ns() * busy_share;

  AdviceFacts advice;
  advice.rule = "input-cache";
  advice.facts = InputCache{};
  advice.evidence = {EvidenceKind::kAdvice, busy, "ns", waits_query(context)};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

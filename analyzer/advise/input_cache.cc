// The loop's thread decodes samples during its waits: cache them.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {

std::optional<Advice> input_cache(const AdviceContext& context) {
  const double busy_share = context.busy_share();
  if (!context.input_matters() || context.report.input.inferred || busy_share < 0.5)
    return std::nullopt;
  const auto collating = paths_inside(context.predictor.paths(), [&](StringId name) {
    return collates(context.recording.text(name));
  });
  const double predicted = context.predictor.step_ns(
      [&](StepGraph& graph) { cache_input(graph, collating, busy_share); });
  const double busy = context.share(Category::kInput) * context.step_ns() * busy_share;

  Advice advice;
  advice.rule = "input-cache";
  advice.title = "cache the prepared samples";
  advice.why = context.report.use.sees_data_again ? "every epoch reuses them, if they fit in memory"
                                                  : "helps if they are reused and fit in memory";
  advice.evidence = {"the loop thread works for " + time_text(busy) +
                         in_units(" during the waits of a step", context.report.unit()),
                     busy, "ns", waits_query(context)};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

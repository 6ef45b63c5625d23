// Copies from pageable memory to the device: the call blocks for each of them.
#include <cmath>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {

std::optional<AdviceFacts> pinned_copies(const AdviceContext& context) {
  double bytes = 0, copies = 0;
  const StepGraph& graph = context.predictor.graph();
  for (const Task& task : graph.tasks) {
    if (!task.pageable_to_device || task.kind != TaskKind::kCopy) continue;
    bytes += static_cast<double>(task.bytes);
    ++copies;
  }
  if (copies == 0) return std::nullopt;
  const auto steps = static_cast<double>(graph.steps.size());

  AdviceFacts advice;
  advice.rule = "pinned-copies";
  advice.facts = PinnedCopies{bytes / steps};
  advice.evidence = {EvidenceKind::kAdvice, copies / steps, "count",
                     "SELECT start_ns, dur_ns, bytes FROM copy WHERE kind = 1 AND source = 1 ORDER "
                     "BY dur_ns DESC"};
  return with_prediction(context, context.predictor.step_ns(pin_copies), std::move(advice));
}

}  // namespace stepscope

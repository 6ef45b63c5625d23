// Threads that are tied to few cores while others are idle.
#include <algorithm>
#include <string>

#include "analyzer/advise/cores.h"
#include "analyzer/advise/rules.h"

namespace stepscope {

std::optional<AdviceFacts> spread_threads(const AdviceContext& context) {
  if (!cores_taken_by(context.report, CoreTaker::kPinning)) return std::nullopt;
  const Starvation& starvation = context.report.starvation;
  const CoreUse& cores = starvation.cores;
  const double wanted = std::min(cores.own + cores.idle, static_cast<double>(context.cores()));
  const bool workers = starvation.worker_share > starvation.loop_share;
  return with_prediction(context, step_with_cores(context, wanted),
                         starved_advice(context, "spread-threads", SpreadThreads{workers}));
}

}  // namespace stepscope

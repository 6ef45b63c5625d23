// Threads that are tied to few cores while others are idle.
#include <algorithm>
#include <string>

#include "analyzer/advise/cores.h"
#include "analyzer/advise/rules.h"
#include "analyzer/words.h"

namespace stepscope {

std::optional<Advice> spread_threads(const AdviceContext& context) {
  if (!cores_taken_by(context.report, CoreTaker::kPinning)) return std::nullopt;
  const Starvation& starvation = context.report.starvation;
  const CoreUse& cores = starvation.cores;
  const double wanted = std::min(cores.own + cores.idle, static_cast<double>(context.cores()));
  const bool workers = starvation.worker_share > starvation.loop_share;
  return with_prediction(
      context, step_with_cores(context, wanted),
      starved_advice(
          context, "spread-threads",
          workers ? "let the workers run on all cores" : "let the program run on all cores",
          "they are tied to " + cores_text(static_cast<double>(cores.pinned_to)) + " while " +
              cores_text(cores.idle) +
              " stand idle: look for taskset, numactl, OMP_PROC_BIND, GOMP_CPU_AFFINITY, or "
              "a library that narrows the affinity"));
}

}  // namespace stepscope

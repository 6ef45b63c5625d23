// A CPU quota that holds the program back.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/advise/cores.h"
#include "analyzer/advise/rules.h"

namespace stepscope {

std::optional<AdviceFacts> cpu_quota(const AdviceContext& context) {
  if (!cores_taken_by(context.report, CoreTaker::kQuota)) return std::nullopt;
  const CoreUse& cores = context.report.starvation.cores;
  const double wanted = std::min(std::ceil(cores.own_ready), std::max(cores.allowed, 1.0));
  if (wanted <= cores.quota) return std::nullopt;
  return with_prediction(context, step_with_cores(context, wanted),
                         starved_advice(context, "cpu-quota", RaiseCpuQuota{wanted}));
}

}  // namespace stepscope

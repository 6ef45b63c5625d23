// Some steps take much longer than the others: what if they did not?
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"

namespace stepscope {

std::optional<AdviceFacts> periodic_stall(const AdviceContext& context) {
  const auto& populations = context.report.populations;
  if (populations.size() < 2) return std::nullopt;
  const Population& usual = populations.front();
  const auto excess = [&](const Population& kind) {
    return static_cast<double>(kind.mean_ns - usual.mean_ns) * static_cast<double>(kind.steps);
  };
  const auto worst = std::max_element(
      populations.begin(), populations.end(),
      [&](const Population& a, const Population& b) { return excess(a) < excess(b); });
  // The advice on persistent workers says what to do about it.
  if (worst->cause.category == Category::kInput && persistent_workers(context)) return std::nullopt;
  const double saved = excess(*worst) / static_cast<double>(context.report.analysed.size());

  const auto slow_ns = static_cast<double>(worst->mean_ns);
  AdviceFacts advice;
  advice.rule = "periodic-stall";
  advice.facts = PeriodicStall{static_cast<std::size_t>(worst - populations.begin())};
  advice.evidence = {EvidenceKind::kAdvice, slow_ns, "ns",
                     "SELECT number, dur_ns, other_ns, input_ns, host_ns FROM step_breakdown WHERE "
                     "thread_id = " +
                         std::to_string(context.loop_thread()) + " ORDER BY dur_ns DESC"};
  return with_prediction(context, context.step_ns() - saved, std::move(advice));
}

}  // namespace stepscope

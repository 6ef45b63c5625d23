// Some steps take much longer than the others: what if they did not?
#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/advise/rules.h"

namespace stepscope {

namespace {

// Whether the kind took the place of the usual steps, or the other way round, when the level of the
// steps changed: then it is no stall.
bool is_another_level(const LoopReport& report, const Population& kind) {
  if (!report.drift || report.drift->trend.jump_at == 0) return false;
  const auto late_share = [&](const Population& population) {
    const auto late = std::ranges::count_if(population.members, [&](std::size_t i) {
      return report.steps[i].number >= report.drift->trend.jump_at;
    });
    return static_cast<double>(late) / static_cast<double>(population.members.size());
  };
  const double usual = late_share(report.populations.front()), other = late_share(kind);
  return std::min(usual, other) <= 0.05 && std::max(usual, other) >= 0.95;
}

// The time per step in which the loop's threads had no core.
double starved_ns(const LoopReport& report, const Population& kind) {
  const std::vector<double>& of_step = report.starvation.starved_ns;
  if (of_step.empty()) return 0;
  double sum = 0;
  for (const std::size_t step : kind.members) sum += of_step[step];
  return sum / static_cast<double>(kind.members.size());
}

}  // namespace

std::optional<AdviceFacts> periodic_stall(const AdviceContext& context) {
  const auto& populations = context.report.populations;
  if (populations.size() < 2) return std::nullopt;
  const Population& usual = populations.front();
  const auto excess = [&](const Population& kind) {
    if (is_another_level(context.report, kind)) return 0.0;
    const auto longer = static_cast<double>(kind.mean_ns - usual.mean_ns);
    const double starved = starved_ns(context.report, kind) - starved_ns(context.report, usual);
    // Steps in which other threads had the cores have no stall that could be moved.
    if (starved > longer / 2) return 0.0;
    return (longer - std::max(starved, 0.0)) * static_cast<double>(kind.steps);
  };
  const auto worst = std::max_element(
      populations.begin(), populations.end(),
      [&](const Population& a, const Population& b) { return excess(a) < excess(b); });
  if (excess(*worst) <= 0) return std::nullopt;
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

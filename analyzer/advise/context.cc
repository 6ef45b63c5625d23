#include "analyzer/advise/context.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stepscope {

double AdviceContext::busy_share() const {
  if (report.input.inferred) return 1;
  double in_ops = 0;
  for (const OpRow& op : report.ops) {
    if (op.phase == phase_name(PhaseKind::kInput)) in_ops += static_cast<double>(op.self_ns);
  }
  const double waits =
      share(Category::kInput) * step_ns() * static_cast<double>(report.analysed.size());
  return std::max(report.input.busy_share(), waits > 0 ? std::min(in_ops / waits, 1.0) : 0);
}

std::optional<Advice> with_prediction(const AdviceContext& context, double predicted_ns,
                                      Advice advice) {
  if (context.step_ns() - predicted_ns < kLeastSaving * context.step_ns()) return std::nullopt;
  return with_any_prediction(context, predicted_ns, std::move(advice));
}

Advice with_any_prediction(const AdviceContext& context, double predicted_ns, Advice advice) {
  advice.predicted_step_ns = std::llround(std::min(predicted_ns, context.step_ns()));
  advice.saves_ns = std::llround(context.step_ns()) - advice.predicted_step_ns;
  return advice;
}

Advice without_prediction(const AdviceContext& context, Advice advice) {
  return with_any_prediction(context, context.step_ns(), std::move(advice));
}

double calls_a_step(const AdviceContext& context, std::string_view name) {
  std::int64_t calls = 0;
  for (const OpRow& op : context.report.ops) {
    if (op.name == name && op.phase != phase_name(PhaseKind::kInput)) calls += op.calls;
  }
  return static_cast<double>(calls) / static_cast<double>(context.report.analysed.size());
}

PathFlags paths_named(const AdviceContext& context, const std::set<std::string_view>& names) {
  return paths_inside(context.predictor.paths(),
                      [&](StringId name) { return names.contains(context.recording.text(name)); });
}

double least_step_ns(const AdviceContext& context) {
  if (context.cores() == 0) return 0;
  const double input = context.share(Category::kInput) * context.step_ns();
  const double one_core = context.step_ns() - input * (1 - context.busy_share());
  const double sampled = context.report.use.cpu_ns;
  return (sampled > 0 ? sampled : one_core) / static_cast<double>(context.cores());
}

std::string waits_query(const AdviceContext& context) {
  if (context.report.input.inferred) return category_query(context, Category::kInput);
  return "SELECT step, dur_ns, cpu_ns, busy_share FROM input_stats WHERE thread_id = " +
         std::to_string(context.loop_thread()) + " AND step IS NOT NULL ORDER BY dur_ns DESC";
}

std::string category_query(const AdviceContext& context, Category category) {
  const std::string column = std::string(category_name(category)) + "_ns";
  return "SELECT number, " + column +
         ", dur_ns FROM step_breakdown WHERE thread_id = " + std::to_string(context.loop_thread()) +
         " ORDER BY " + column + " DESC";
}

}  // namespace stepscope

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
  advice.predicted_step_ns = std::llround(predicted_ns);
  advice.saves_ns = std::llround(context.step_ns()) - advice.predicted_step_ns;
  return advice;
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

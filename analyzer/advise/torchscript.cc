// A model that Python runs op by op, with the same ops each time: the code between the ops
// disappears when the model runs as one function.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr double kMinShare = kStallNamed;  // of the step, spent between the ops
constexpr std::int64_t kGap = 50'000;      // ns; a longer gap is not just the call of the next op
constexpr double kLeftOfGaps = 0.1;  // TorchScript's interpreter (bench/predict: eager and frozen)

// The share of a call spent in short gaps, over the fastest quarter of the calls. The slower calls
// also waited, at any point, for a processor that other programs were using.
double gap_share(const StepGraph& graph) {
  struct Call {
    std::int64_t whole = 0;
    std::int64_t gaps = 0;
  };
  std::vector<Call> calls(graph.steps.size());
  for (const Task& task : graph.tasks) {
    if (task.lane != kLoopLane) continue;
    calls[task.step].whole += task.dur_ns;
    if (is_short_gap(task, kGap)) calls[task.step].gaps += task.dur_ns;
  }
  const auto quarter = static_cast<std::ptrdiff_t>((calls.size() + 3) / 4);
  std::nth_element(calls.begin(), calls.begin() + quarter - 1, calls.end(),
                   [](const Call& a, const Call& b) { return a.whole < b.whole; });
  Call sum;
  for (auto call = calls.begin(); call != calls.begin() + quarter; ++call) {
    sum.whole += call->whole;
    sum.gaps += call->gaps;
  }
  return sum.whole > 0 ? static_cast<double>(sum.gaps) / static_cast<double>(sum.whole) : 0;
}

}  // namespace

std::optional<AdviceFacts> torchscript(const AdviceContext& context) {
  const OpFacts& facts = context.report.op_facts;
  if (context.report.trains || facts.scripted > 0) return std::nullopt;
  if (!facts.ops_are_same() || !facts.shapes_are_same()) return std::nullopt;
  // In that case, the code between the ops is the loop that reads the values, not part of the
  // model.
  if (reads_value_by_value(context)) return std::nullopt;
  const double share = gap_share(context.predictor.graph());
  if (share < kMinShare) return std::nullopt;
  const double predicted = context.predictor.step_ns(
      [](StepGraph& graph) { scale_short_gaps(graph, kGap, kLeftOfGaps); });

  AdviceFacts advice;
  advice.rule = "torchscript";
  advice.facts = Torchscript{share};
  advice.evidence = {EvidenceKind::kAdvice, facts.same_ops, "ratio",
                     category_query(context, Category::kHost)};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

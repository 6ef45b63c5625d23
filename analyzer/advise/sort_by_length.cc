// Batches of samples with different lengths: each batch is padded to its longest sample, and the
// padding is computed, too.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

double predicted_ns(const AdviceContext& context, const ComputedElements& then) {
  const ComputedElements& now = context.report.padding.computed;
  const PathFlags on_pairs = ops_on_pairs(context);
  return context.predictor.step_ns([&](StepGraph& graph) {
    scale_loop_work(graph, on_pairs, then.elements / now.elements, then.pairs / now.pairs);
  });
}

}  // namespace

std::optional<AdviceFacts> sort_by_length(const AdviceContext& context) {
  const PaddingUse& use = context.report.padding;
  if (context.report.trains || use.batches == 0 || use.samples == use.batches) return std::nullopt;
  if (use.padding_share() < kMinPadding) return std::nullopt;
  const double bucketed = predicted_ns(context, use.bucketed);

  AdviceFacts advice;
  advice.rule = "sort-by-length";
  advice.facts = SortByLength{bucketed};
  advice.evidence = {EvidenceKind::kAdvice, use.padding_share(), "ratio",
                     "SELECT text AS lengths, dur_ns FROM phase JOIN string ON string.id = name_id "
                     "WHERE text LIKE 'lengths%'"};
  return with_prediction(context, predicted_ns(context, use.sorted), std::move(advice));
}

}  // namespace stepscope

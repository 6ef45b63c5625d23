// Batches of samples of any length: each is padded to its longest, and the padding is computed too.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

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

std::optional<Advice> sort_by_length(const AdviceContext& context) {
  const PaddingUse& use = context.report.padding;
  if (context.report.trains || use.batches == 0 || use.samples == use.batches) return std::nullopt;
  if (use.padding_share() < kLeastPadding) return std::nullopt;
  const double bucketed = predicted_ns(context, use.bucketed);

  Advice advice;
  advice.rule = "sort-by-length";
  advice.title = "sort the samples by length";
  advice.why = percent_text(use.padding_share()) +
               " of the computed elements are padding; sorted only within " +
               std::to_string(kBucket) + " batches, as a stream allows, a call would take " +
               time_text(bucketed);
  advice.evidence = {
      percent_text(use.padding_share()) + " of the elements of all batches are padding",
      use.padding_share(), "ratio",
      "SELECT text AS lengths, dur_ns FROM phase JOIN string ON string.id = name_id "
      "WHERE text LIKE 'lengths%'"};
  return with_prediction(context, predicted_ns(context, use.sorted), std::move(advice));
}

}  // namespace stepscope

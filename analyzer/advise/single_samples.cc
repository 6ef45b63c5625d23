// Inference on one sample per call: a batch pays the fixed cost of a call once for all its samples.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr int kBatch = kAdvisedBatch;
constexpr double kMostlySingle = 0.9;  // of the ops whose shapes show a batch
// An op whose self time is at most this many times the framework's overhead of an op does next to
// nothing with its data: a view, a small addition.
constexpr double kTiny = 10;

bool computes_single_samples(const LoopReport& report) {
  if (report.padding.batches > 0) return report.padding.samples == report.padding.batches;
  return report.op_facts.single.value_or(0) >= kMostlySingle;
}

// Paths of ops that cost about the same for any number of samples.
PathFlags tiny_ops(const AdviceContext& context) {
  const double most = kTiny * static_cast<double>(to_ns(context.recording.facts.leaf_op_overhead));
  std::set<std::string_view> names;
  for (const OpRow& op : context.report.ops) {
    if (op.calls > 0 && static_cast<double>(op.self_ns) / static_cast<double>(op.calls) <= most)
      names.insert(op.name);
  }
  const OpPaths& paths = context.predictor.paths();
  PathFlags flags(paths.size(), false);
  for (std::size_t i = 1; i < paths.size(); ++i)
    flags[i] = names.contains(context.recording.text(paths.name(static_cast<OpPath>(i))));
  return flags;
}

}  // namespace

std::optional<AdviceFacts> single_samples(const AdviceContext& context) {
  if (context.report.trains || !computes_single_samples(context.report)) return std::nullopt;
  const PathFlags tiny = tiny_ops(context);
  const PaddingUse& padding = context.report.padding;
  const bool unequal = padding.padding_share(padding.batched) >= kMinPadding;
  const double predicted = context.predictor.step_ns([&](StepGraph& graph) {
    if (unequal) {
      scale_loop_work(graph, ops_on_pairs(context),
                      padding.batched_sorted.elements / padding.computed.elements,
                      padding.batched_sorted.pairs / padding.computed.pairs);
    }
    share_fixed_costs(graph, tiny, kBatch);
  });

  AdviceFacts advice;
  advice.rule = "single-samples";
  const bool marked = context.report.padding.batches > 0;
  advice.facts = SingleSamples{marked, unequal};
  advice.evidence = {EvidenceKind::kAdvice, 1, marked ? "count" : "ratio",
                     marked
                         ? "SELECT text, count(*) AS calls FROM phase JOIN string ON string.id = "
                           "name_id WHERE text LIKE 'lengths%' GROUP BY text ORDER BY calls DESC"
                         : "SELECT text, count(*) AS ops FROM op_shapes JOIN string ON "
                           "string.id = shapes_id GROUP BY text ORDER BY ops DESC"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

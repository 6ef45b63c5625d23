// Inference on one sample per call: a batch pays the fixed cost of a call once for all its samples.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

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

std::optional<Advice> single_samples(const AdviceContext& context) {
  if (context.report.trains || !computes_single_samples(context.report)) return std::nullopt;
  const PathFlags tiny = tiny_ops(context);
  const PaddingUse& padding = context.report.padding;
  const bool unequal = padding.padding_share(padding.batched) >= kLeastPadding;
  const double predicted = context.predictor.step_ns([&](StepGraph& graph) {
    if (unequal) {
      scale_loop_work(graph, ops_on_pairs(context),
                      padding.batched_sorted.elements / padding.computed.elements,
                      padding.batched_sorted.pairs / padding.computed.pairs);
    }
    share_fixed_costs(graph, tiny, kBatch);
  });

  Advice advice;
  advice.rule = "single-samples";
  const std::string batch = "batch " + std::to_string(kBatch);
  advice.title = unequal ? "sort by length, " + batch + " per call" : batch + " samples per call";
  advice.why =
      "each call has one; in a batch, a sample takes at most this long, because the launch "
      "overhead and the code between the ops are paid once per batch";
  if (unequal)
    advice.why += "; unsorted, " + percent_text(padding.padding_share(padding.batched)) +
                  " of each batch would be padding, against " +
                  percent_text(padding.padding_share(padding.batched_sorted)) + " if sorted";
  const bool marked = context.report.padding.batches > 0;
  advice.evidence = {marked ? "one sample a call, as marked" : "the ops run on batches of one", 1,
                     marked ? "count" : "ratio",
                     marked
                         ? "SELECT text, count(*) AS calls FROM phase JOIN string ON string.id = "
                           "name_id WHERE text LIKE 'lengths%' GROUP BY text ORDER BY calls DESC"
                         : "SELECT text, count(*) AS ops FROM op_shapes JOIN string ON "
                           "string.id = shapes_id GROUP BY text ORDER BY ops DESC"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

// Results that are read one value at a time: each .item() is an op, and with a device a wait.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

// The ops that extract the value, where they run as often as item().
std::set<std::string_view> reading_ops(const AdviceContext& context, double items) {
  std::set<std::string_view> names = {"aten::item"};
  if (calls_a_step(context, "aten::select") >= items)
    names.insert({"aten::select", "aten::unbind"});
  return names;
}

}  // namespace

std::optional<Advice> read_at_once(const AdviceContext& context) {
  if (!reads_value_by_value(context)) return std::nullopt;
  const double items = calls_a_step(context, "aten::item");
  const PathFlags reads = paths_named(context, reading_ops(context, items));
  const double predicted =
      context.predictor.step_ns([&](StepGraph& graph) { remove_ops(graph, reads); });

  Advice advice;
  advice.rule = "read-at-once";
  advice.title = "read all results at once";
  const std::string calls = count_text(static_cast<std::int64_t>(items + 0.5));
  advice.why = calls + " calls of .item() a " + context.report.unit() +
               " read one value each; .tolist() or .cpu() reads them all" +
               (context.predictor.graph().streams.empty() ? "" : ", and waits for the device once");
  advice.evidence = {calls + " calls of aten::item a " + context.report.unit(), items, "count",
                     "SELECT name, phase, calls, total_ns FROM op_stats WHERE name IN "
                     "('aten::item', 'aten::_local_scalar_dense', 'aten::select')"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

// Results that are read one value at a time: each .item() is an op and, with a device, a wait.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

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

std::optional<AdviceFacts> read_at_once(const AdviceContext& context) {
  if (!reads_value_by_value(context)) return std::nullopt;
  const double items = calls_a_step(context, "aten::item");
  const PathFlags reads = paths_named(context, reading_ops(context, items));
  const double predicted =
      context.predictor.step_ns([&](StepGraph& graph) { remove_ops(graph, reads); });

  AdviceFacts advice;
  advice.rule = "read-at-once";
  advice.facts = ReadAtOnce{!context.predictor.graph().streams.empty()};
  advice.evidence = {EvidenceKind::kAdvice, items, "count",
                     "SELECT name, phase, calls, total_ns FROM op_stats WHERE name IN "
                     "('aten::item', 'aten::_local_scalar_dense', 'aten::select')"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

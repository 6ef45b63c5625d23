// Much of the step is framework overhead for launching ops.
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr double kMinLaunchShare = 0.10;  // the share from which the verdict reports it, too

std::int64_t calls_a_step(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) calls += op.phase == "input" ? 0 : op.calls;
  return calls / static_cast<std::int64_t>(report.op_steps.size());
}

// Why tracing with TorchScript, the obvious fix, would not work here.
NoScript why_no_script(const LoopReport& report) {
  const OpFacts& facts = report.op_facts;
  if (report.trains || facts.steps == 0 || facts.scripted > 0) return NoScript::kNone;
  if (!facts.ops_are_same()) return NoScript::kOpsDiffer;
  return facts.shapes_are_same() ? NoScript::kNone : NoScript::kShapesChange;
}

}  // namespace

std::optional<AdviceFacts> fewer_tiny_ops(const AdviceContext& context) {
  const double launch = context.share(Category::kLaunch) * context.step_ns();
  if (context.share(Category::kLaunch) < kMinLaunchShare) return std::nullopt;
  double predicted = context.predictor.step_ns(launch_as_graph);
  // Without a device, nothing can go but the overhead. A device's own gaps go with the launches.
  const bool on_host = context.predictor.graph().streams.empty();
  if (on_host) predicted = std::max(predicted, context.step_ns() - launch);

  AdviceFacts advice;
  advice.rule = "fewer-tiny-ops";
  advice.facts =
      FewerTinyOps{calls_a_step(context.report), !on_host, why_no_script(context.report)};
  advice.evidence = {EvidenceKind::kAdvice, launch, "ns",
                     category_query(context, Category::kLaunch)};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

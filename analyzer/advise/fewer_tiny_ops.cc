// Much of the step is framework overhead for launching ops.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kLeastLaunchShare = 0.10;  // the share from which the verdict reports it, too

std::int64_t calls_a_step(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) calls += op.phase == "input" ? 0 : op.calls;
  return calls / static_cast<std::int64_t>(report.op_steps.size());
}

// Why tracing with TorchScript, the obvious fix, would not work here.
std::string why_no_script(const LoopReport& report) {
  const OpFacts& facts = report.op_facts;
  if (report.trains || facts.steps == 0 || facts.scripted > 0) return "";
  if (!facts.ops_are_same()) return "; tracing does not help, as the ops differ from call to call";
  if (!facts.shapes_are_same()) return "; tracing does not help, as the shapes change";
  return "";
}

}  // namespace

std::optional<Advice> fewer_tiny_ops(const AdviceContext& context) {
  const double launch = context.share(Category::kLaunch) * context.step_ns();
  if (context.share(Category::kLaunch) < kLeastLaunchShare) return std::nullopt;
  const double predicted = context.predictor.step_ns(launch_as_graph);

  Advice advice;
  advice.rule = "fewer-tiny-ops";
  advice.title = context.predictor.graph().streams.empty() ? "compile or fuse the tiny ops"
                                                           : "use CUDA graphs, or fuse the ops";
  advice.why = count_text(calls_a_step(context.report)) +
               in_units(" ops a step cost ", context.report.unit()) + time_text(launch) +
               " of framework overhead, which at best disappears" + why_no_script(context.report);
  advice.evidence = {
      in_units("the framework overhead of the ops in a step is ", context.report.unit()) +
          time_text(launch),
      launch, "ns", category_query(context, Category::kLaunch)};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

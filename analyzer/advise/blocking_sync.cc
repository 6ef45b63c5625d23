// The host waits for the device in the middle of a step, and the device then waits for the host.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

// How often a step waits for the device to read one value with .item().
double waiting_reads(const AdviceContext& context) {
  const PathFlags reads = paths_named(context, {"aten::item"});
  const std::vector<Task>& tasks = context.predictor.graph().tasks;
  const bool waits = std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) {
    return task.synchronises && reads[static_cast<std::size_t>(task.path)];
  });
  return waits ? calls_a_step(context, "aten::item") : 0;
}

}  // namespace

std::optional<AdviceFacts> blocking_sync(const AdviceContext& context) {
  if (context.predictor.graph().streams.empty()) return std::nullopt;
  const double saved = context.step_ns() - context.predictor.step_ns(remove_syncs);

  AdviceFacts advice;
  advice.rule = "blocking-sync";
  advice.facts = BlockingSync{waiting_reads(context)};
  advice.evidence = {
      EvidenceKind::kAdvice, saved, "ns",
      "SELECT string.text AS name, count(*) AS calls, sum(dur_ns) AS ns FROM api_call "
      "JOIN string ON string.id = name_id GROUP BY name_id ORDER BY ns DESC"};
  return with_prediction(context, context.step_ns() - saved, std::move(advice));
}

}  // namespace stepscope

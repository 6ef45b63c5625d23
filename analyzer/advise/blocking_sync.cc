// The host waits for the device in the middle of a step, and the device then waits for the host.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {

std::optional<Advice> blocking_sync(const AdviceContext& context) {
  if (context.predictor.graph().streams.empty()) return std::nullopt;
  const double saved = context.step_ns() - context.predictor.step_ns(remove_syncs);

  Advice advice;
  advice.rule = "blocking-sync";
  advice.title = "do not wait for the device";
  advice.why =
      "calls that wait for it (also .item() and copies to the host) keep the next work from "
      "being launched; at best none is needed in a step";
  advice.evidence = {
      "without the waits a step would be shorter by " + time_text(saved), saved, "ns",
      "SELECT string.text AS name, count(*) AS calls, sum(dur_ns) AS ns FROM api_call "
      "JOIN string ON string.id = name_id GROUP BY name_id ORDER BY ns DESC"};
  return with_prediction(context, context.step_ns() - saved, std::move(advice));
}

}  // namespace stepscope

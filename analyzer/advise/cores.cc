#include "analyzer/advise/cores.h"

#include <algorithm>
#include <utility>

namespace stepscope {

bool cores_taken_by(const LoopReport& report, CoreTaker taker) {
  return report.starvation.share >= kStallListed && report.starvation.cores.taker == taker;
}

double step_with_cores(const AdviceContext& context, double cores) {
  const Starvation& starvation = context.report.starvation;
  const double ran = cores > 0 ? starvation.cores.own * context.step_ns() / cores : 0;
  return std::max(context.step_ns() * (1 - starvation.share), ran);
}

AdviceFacts starved_advice(const AdviceContext& context, const char* rule, RuleFacts facts) {
  AdviceFacts advice;
  advice.rule = rule;
  advice.facts = std::move(facts);
  if (!context.report.starvation.evidence.empty())
    advice.evidence = context.report.starvation.evidence.front();
  return advice;
}

}  // namespace stepscope

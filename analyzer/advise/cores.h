// What the rules about threads without a core share.
#pragma once

#include <string>

#include "analyzer/advise/context.h"

namespace stepscope {

// Whether the loop was starved of cores by `taker`, for long enough to be reported.
bool cores_taken_by(const LoopReport& report, CoreTaker taker);

// The step if each ready thread had one of `cores`: what threads ran stays, and it takes no less
// than its share of the cores.
double step_with_cores(const AdviceContext& context, double cores);

// With the evidence of the starvation, without a prediction.
AdviceFacts starved_advice(const AdviceContext& context, const char* rule, RuleFacts facts);

}  // namespace stepscope

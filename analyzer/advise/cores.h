// Helpers of the rules about threads without a core.
#pragma once

#include <string>

#include "analyzer/advise/context.h"

namespace stepscope {

// Whether the loop was starved of cores by `taker`, for long enough to be reported.
bool cores_taken_by(const LoopReport& report, CoreTaker taker);

// The step if each ready thread had one of `cores`. The time that threads ran stays, and the step
// takes no less than that time divided by the cores.
double step_with_cores(const AdviceContext& context, double cores);

// Advice with the evidence of the starvation, without a prediction.
AdviceFacts starved_advice(const AdviceContext& context, const char* rule, RuleFacts facts);

}  // namespace stepscope

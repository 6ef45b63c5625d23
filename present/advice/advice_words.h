// Advice in words.
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// As the store and the documents have it. `advice`: of `loop`.
Advice told_advice(const AdviceFacts& advice, const LoopReport& loop);

// All of the loop's, in its order.
std::vector<Advice> told_advice(const LoopReport& loop);

}  // namespace stepscope

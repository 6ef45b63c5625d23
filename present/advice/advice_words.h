// Advice in words.
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The advice in the form that the store and the JSON documents have. `advice` belongs to `loop`.
Advice make_advice(const AdviceFacts& advice, const LoopReport& loop);

// All advice of the loop, in its order.
std::vector<Advice> make_advice(const LoopReport& loop);

}  // namespace stepscope

// Decides which steps are recorded op by op.
#pragma once

#include <cstdint>

#include "profiler/ring/region_format.h"

namespace stepscope {

// Whether ops are wanted in `step` (counted from 1; 0, before the first step, is treated as 1).
bool ops_wanted(const RecordPlan& plan, OpsSwitch on_demand, std::int64_t step);

}  // namespace stepscope

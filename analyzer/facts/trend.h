// How a series grows or shrinks.
#pragma once

#include <cstdint>

#include "analyzer/facts/interval.h"

namespace stepscope {

struct Trend {
  double slope = 0;          // per step
  Interval slope_ci;         // 95 %
  double change = 0;         // over all steps; after a jump, the later level minus the earlier
  Interval change_ci;        // 95 %
  double level = 0;          // the median of all values
  std::int64_t jump_at = 0;  // the step number of a jump; 0: the change is gradual
};

}  // namespace stepscope

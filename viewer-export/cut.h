// The part of a run that an export covers.
#pragma once

#include <cstdint>
#include <optional>

#include "store/analysis.h"
#include "store/status.h"
#include "store/time.h"

namespace stepscope {

// Step numbers, both included.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// What is exported: events that start inside.
struct Cut {
  std::optional<TimeRange> range;  // nothing: all
  [[nodiscard]] bool has(SessionTime start) const { return !range || range->contains(start); }
};

// From the first start to the last end of these steps, of any loop; everything if no steps are
// given. Errors: kUsage (the run has no such steps).
Result<Cut> cut_of(const Analysis& analysis, const std::optional<StepRange>& steps);

}  // namespace stepscope

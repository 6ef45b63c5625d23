// Ranges of time that may overlap, as such that do not.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "store/time.h"

namespace stepscope {

// Where any of `ranges` is live: in order, with gaps between.
std::vector<TimeRange> merge_ranges(std::vector<TimeRange> ranges);

// For how long any of `merged`, which are in order and apart, is live within `span`.
Duration covered(std::span<const TimeRange> merged, TimeRange span);

}  // namespace stepscope

// Merges time ranges that may overlap into ranges that do not.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "store/time.h"

namespace stepscope {

// The time that any of `ranges` covers, as ranges in order with gaps between them.
std::vector<TimeRange> merge_ranges(std::vector<TimeRange> ranges);

// How much of `span` the ranges in `merged` cover; they are in order and do not overlap.
Duration covered(std::span<const TimeRange> merged, TimeRange span);

}  // namespace stepscope

// Ranges of time that may overlap, as runs that do not.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "store/time.h"

namespace stepscope {

struct Run {
  TimeRange range;
};

// Where any of `ranges` is live: in order, with gaps between.
std::vector<Run> merge_ranges(std::vector<TimeRange> ranges);

// For how long any of `runs`, which are in order and apart, is live within `span`.
Duration covered(std::span<const Run> runs, TimeRange span);

}  // namespace stepscope

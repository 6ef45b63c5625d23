// Time inside and outside of a loop's segments. `segments` are in order and do not overlap.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <span>
#include <vector>

#include "store/analysis.h"
#include "store/time.h"

namespace stepscope {

TimeRange range_of(const LoopSegment& segment);

// The parts of `range` outside of `segments`.
std::vector<TimeRange> outside_of(TimeRange range, std::span<const LoopSegment> segments);
// The total length of these parts.
Duration length_outside_of(TimeRange range, std::span<const LoopSegment> segments);

// Whether `time` lies in one of `segments`.
bool in_segment(SessionTime time, std::span<const LoopSegment> segments);

}  // namespace stepscope

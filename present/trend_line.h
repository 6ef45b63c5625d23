// The step time over the run, as a line of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"

namespace stepscope {

struct TrendPoint {
  SessionTime end;           // of the interval
  std::int64_t mean_ns = 0;  // of the steps that ended in it
};

// The history of a loop without its first step, if that is in it: it warms up, and where it began
// may be unknown. Beside it, the other steps would be a flat line.
std::span<const LiveStep> without_first_step(const LiveLoop& loop);

// Divides the time that `history` covers into at most `most` equal intervals, and never more than
// there are steps. Intervals in which no step ended are left out.
std::vector<TrendPoint> trend_points(std::span<const LiveStep> history, std::size_t most);

// "▂▂▃█▂": one character per point, whose height is relative to the largest.
std::string sparkline(const std::vector<TrendPoint>& points);

}  // namespace stepscope

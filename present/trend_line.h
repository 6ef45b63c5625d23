// The course of the step time, as a line of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"

namespace stepscope {

struct TrendPoint {
  SessionTime end;           // of the piece of time
  std::int64_t mean_ns = 0;  // of the steps that ended in it
};

// The time that `history` covers in at most `most` equal pieces; those in which no step ended are
// left out. Never more pieces than steps.
std::vector<TrendPoint> trend_points(const std::vector<LiveStep>& history, std::size_t most);

// "▂▂▃█▂": a character a point, of a height between 0 and the largest.
std::string sparkline(const std::vector<TrendPoint>& points);

}  // namespace stepscope

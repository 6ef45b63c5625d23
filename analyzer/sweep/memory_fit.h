// How peak memory grows with a parameter, and the largest value that would have fitted.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>

#include "analyzer/sweep/sweep_report.h"

namespace stepscope {

struct MemoryPoint {
  double value = 0;  // of the parameter
  double bytes = 0;  // the peak
};

// A least-squares line. Small values may not show in the peak at all, which loading the program
// reached already: values within kFloor of the least peak are left out as long as at least three
// remain. Where the line meets `limit` is `largest`, rounded down; its interval is that of
// an inverse prediction (Eisenhart 1939; Draper and Smith, Applied Regression Analysis, 3.2): the
// values for which a new run's peak is not told from the limit. Nothing when memory does not grow
// with the value, or all points have one value.
std::optional<MemoryFit> fit_memory(std::span<const MemoryPoint> points, double limit);

inline constexpr double kFloor = 0.1;  // of the way from the least peak to the greatest

}  // namespace stepscope

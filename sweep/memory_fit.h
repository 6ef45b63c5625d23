// How peak memory grows with a parameter, and the largest value that would have fitted.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sweep/sweep_report.h"

namespace stepscope {

struct MemoryPoint {
  double value = 0;  // of the parameter
  double bytes = 0;  // the peak
};

struct MemoryFitResult {
  std::optional<MemoryFit> fit;
  std::string why_not;  // a few words, where there is none
};

// A least-squares line through all runs. Small values may not show in the peak at all, which
// loading the program reached already: values within kFloor of the least peak are left out as long
// as at least three remain. Where the line meets `limit` is `largest`, rounded down; its interval
// is that of an inverse prediction (Eisenhart 1939; Draper and Smith, Applied Regression
// Analysis, 3.2): the values for which a new run's peak is not told from the limit.
//
// Runs of one value are alike, whether the growth is straight or not. With three values or more
// that is tested (lack of fit, the same book, 2.1): where the values stray from the line by more
// than their runs explain, each value counts once, by its mean. Two values allow no such test;
// their runs tell the spread alone.
MemoryFitResult fit_memory(std::span<const MemoryPoint> points, double limit);

inline constexpr double kFloor = 0.1;  // of the way from the least peak to the greatest

}  // namespace stepscope

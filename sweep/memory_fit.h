// How peak memory grows with a parameter, and the largest value that would have fitted in memory.
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
  std::string why_not;  // a few words, if there is no fit
};

// Fits a least-squares line through all runs. Small values may not raise the peak at all, if
// loading the program already reached it: values within kFloor of the least peak are left out as
// long as at least three remain. `largest` is where the line meets `limit`, rounded down; its
// interval is that of an inverse prediction (Eisenhart 1939; Draper and Smith, Applied Regression
// Analysis, 3.2): the values for which a new run's peak cannot be distinguished from the limit.
// `spare`: bytes that are part of each peak, but that the program may do without at the limit. The
// interval ends where the line meets the limit without them.
//
// Runs with the same value resemble each other, whether the growth is linear or not. With three or
// more values, linearity is tested (lack of fit, the same book, 2.1): if the means of the values
// deviate from the line by more than the differences between their runs explain, each value counts
// once, by its mean. Two values allow no such test; their runs show only the spread.
MemoryFitResult fit_memory(std::span<const MemoryPoint> points, double limit, double spare = 0);

// For a fit of address space. When a thread first allocates, glibc's malloc reserves twice the size
// of an arena's heap (64 MiB) to align it. If that fails, the thread uses another arena. (glibc,
// malloc/arena.c, new_heap() and arena_get2())
inline constexpr double kSpareAddresses = 128.0 * 1024 * 1024;

inline constexpr double kFloor = 0.1;  // of the range from the least peak to the greatest

}  // namespace stepscope

// Whether a process needs more memory with each step.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/counters/counters.h"
#include "analyzer/report.h"

namespace stepscope {

// How fast memory grows, in bytes per step: the median of the slopes between all pairs of readings
// (Theil 1950, Sen 1968), which is robust against a checkpoint's peak and steps of another kind.
// Only pairs that lie a step or more apart count, and a rise within one step that makes up most of
// the growth is taken out: what a single step allocates, such as an import or a cache that is
// filled once, is no growth per step. 0 if there are readings in fewer than kMinReadings of
// `steps`, which are in order.
double growth_per_step(const CounterSeries& memory, const std::vector<Step>& steps);
inline constexpr std::size_t kMinReadings = 5;

// The least growth over all steps, as a share of the memory held, that is reported.
inline constexpr double kMinGrowth = 0.05;

}  // namespace stepscope

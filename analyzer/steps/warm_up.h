// Which steps at the start of a loop are warm-up: they bear one-time costs (first touches of
// memory, starting workers, cold caches) and are not part of the verdict.
#pragma once

#include <cstddef>
#include <span>

#include "store/time.h"

namespace stepscope {

// How many of the first steps are warm-up. The first step always is. After it, each further step is
// one while it and all before it are slower than kWarmUpFactor × the median of the settled half
// (the later half of the loop) and lie more than kWarmUpSpreads robust standard deviations (1.4826
// × the median absolute deviation) above it, up to a tenth of the loop. 0 only for no steps.
//
// `work`: what each step computes, as a multiple of the usual; empty: they compute the same. A step
// that computes twice as much as usual may take twice as long.
std::size_t warm_up_steps(std::span<const Duration> step_times, std::span<const double> work = {});

inline constexpr double kWarmUpFactor = 1.25;
inline constexpr double kWarmUpSpreads = 5.0;
inline constexpr std::size_t kWarmUpShare = 10;  // at most one step in this many

}  // namespace stepscope

// Which steps at the start of a loop are warm-up: they bear one-time costs (first touches of
// memory, starting workers, cold caches) and are not part of the verdict.
#pragma once

#include <cstddef>
#include <optional>
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

// How many of the first steps the host ran ahead of the device: it only handed over work, which
// takes the device longer, until the queue of launches was full (1,024 on the GPUs of 2026). From
// then on each launch waits, and the steps are as long as the device takes. 0 if the queue never
// filled, was emptied again later (a loop that waits for the device now and then has no other
// pace), or filled less than kFewestAtPace steps before the end.
//
// `device_ends`: when the device finished the work of each step, or nothing for a step that gave it
// none.
std::size_t run_ahead_steps(std::span<const TimeRange> steps,
                            std::span<const std::optional<SessionTime>> device_ends);

inline constexpr std::size_t kFewestAtPace = 10;
inline constexpr double kWarmUpFactor = 1.25;
inline constexpr double kWarmUpSpreads = 5.0;
inline constexpr std::size_t kWarmUpShare = 10;  // at most one step in this many

}  // namespace stepscope

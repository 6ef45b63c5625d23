// From shares of step time to the name of the bottleneck.
#pragma once

#include <optional>

#include "analyzer/facts/bottleneck.h"

namespace stepscope {

// In this order: input from kHighlyInputBound on; the largest other stall from kStallNamed on;
// input from kModeratelyInputBound on; else compute-bound. `memory_pressure`: the share of time
// spent waiting for memory. It overlaps with the categories, because it slows them down, so from
// kStallNamed on it precedes any stall that is not larger. `starved`: the same for the time in
// which threads were ready and had no core; `shares` then exclude that time.
Bottleneck classify(const Shares& shares, double memory_pressure = 0, double starved = 0);

inline constexpr double kNear = 0.01;  // one point of the step
// The share that changes the verdict when it is kNear larger or smaller, so that another recording
// of the same program may get another verdict; nothing: there is none.
std::optional<Stall> near_threshold(const Shares& shares, double memory_pressure = 0,
                                    double starved = 0);

// Whether `share` of a category is worth mentioning with a verdict that it does not decide.
bool is_listed(Category category, double share);

// The share that decides a verdict of this category.
double deciding_share(const Shares& shares, Category category);

}  // namespace stepscope

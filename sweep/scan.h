// The settings of a sweep that differ only in one numeric parameter: the best of them, those as
// good as the best, where memory pressure starts to cost time, and the largest that fits in memory.
#pragma once

#include <optional>
#include <vector>

#include "store/read_sweep.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// Of the numeric parameters with two or more values, the one named "batch", else the first. Nothing
// if there is none.
std::optional<std::size_t> scanned_parameter(const SweepPlan& plan);

// Needs report.plan, .cells and .scanned.
std::vector<Scan> scan_settings(const SweepReport& report, const SweepData& data);

// A setting shows memory pressure when this share of its step time was spent waiting for memory,
// ...
inline constexpr double kPressureShare = 0.01;
// ... when this many pages per step came from disk, ...
inline constexpr double kMajorFaultsAStep = 0.5;
// ... or when its page faults per sample are this many times those of the best setting, and at
// least this many per step.
inline constexpr double kMoreFaults = 2;
inline constexpr double kFaultsAStep = 64;

}  // namespace stepscope

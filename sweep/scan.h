// The settings of a sweep that differ in one numeric parameter alone: the best of them, which are
// as good, where memory pressure begins to cost, and the largest that fits.
#pragma once

#include <optional>
#include <vector>

#include "store/sweep_store.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// Numeric, of two or more values: the one named "batch", else the first. Nothing: there is none.
std::optional<std::size_t> scanned_parameter(const SweepPlan& plan);

// Needs report.plan, .cells and .scanned.
std::vector<Scan> scan_settings(const SweepReport& report, const SweepData& data);

// A setting shows memory pressure when of its step time so much was waited for memory, ...
inline constexpr double kPressureShare = 0.01;
// ... when so many pages a step came from disk, ...
inline constexpr double kMajorFaultsAStep = 0.5;
// ... or when its samples take so many times the page faults of those of the best setting, and at
// least so many a step.
inline constexpr double kMoreFaults = 2;
inline constexpr double kFaultsAStep = 64;

}  // namespace stepscope

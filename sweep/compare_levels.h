// What is no number (a format, a variant) beside its alternatives, over the settings that all of
// them have: one that is not available with one of them is left out for all.
#pragma once

#include <vector>

#include "sweep/sweep_report.h"

namespace stepscope {

// One for the variants and one for each parameter that is no number, where there are two or more.
// Needs report.plan and .cells.
std::vector<LevelComparison> compare_levels(const SweepReport& report);

}  // namespace stepscope

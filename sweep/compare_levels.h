// Compares the values of non-numeric parameters (a format, a variant) over the settings that all of
// them have: a setting that is unavailable for one of them is left out for all.
#pragma once

#include <vector>

#include "sweep/sweep_report.h"

namespace stepscope {

// One for the variants and one for each non-numeric parameter, each with two or more values.
// Needs report.plan and .cells.
std::vector<LevelComparison> compare_levels(const SweepReport& report);

}  // namespace stepscope

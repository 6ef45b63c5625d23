// The figures of each setting of a sweep. How far they can be trusted comes from two sources: steps
// of one process resemble their neighbours (estimate.h), and processes differ from one another, in
// where their memory came to lie and what else ran. The second is estimated from all settings
// together, relative to their means, as each has but a few runs. Where samples are those of a whole
// run, it alone counts.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "store/sweep_store.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// One for each cell of the plan, in its order.
std::vector<CellFigures> figures_of_cells(const SweepData& data);

// Of the means of a setting's processes, the standard deviation among all settings, relative to
// each one's mean. `freedom`: how many deviations it rests on; 0: no setting ran twice.
struct Spread {
  double relative = 0;
  double freedom = 0;
};
Spread spread_of(std::span<const std::vector<Estimate>> runs_of_cells);

// A setting whose processes differ by more than so many times the spread of all has one of its own.
inline constexpr double kUnlikeOthers = 3;

// Of all runs of one setting.
Estimate combine_runs(std::span<const Estimate> runs, const Spread& spread);

// The value at place ceil(p × n) of n, in order.
double nearest_rank(std::vector<double> values, double p);

}  // namespace stepscope

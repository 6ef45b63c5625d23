// The figures of each setting of a sweep. Their error has two sources: steps of one process
// resemble their neighbours (estimate.h), and processes differ from one another, depending on where
// their memory lies and what else runs. The second is estimated from all settings together,
// relative to their means, because each setting has only a few runs. If samples are counted per
// run, only the second applies.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "store/read_sweep.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// One for each cell of the plan, in order.
std::vector<CellFigures> figures_of_cells(const SweepData& data);

// The standard deviation of process means within a setting, relative to its mean and pooled over
// all settings. `freedom`: its degrees of freedom; 0: no setting ran twice.
struct Spread {
  double relative = 0;
  double freedom = 0;
};
Spread spread_of(std::span<const std::vector<Estimate>> runs_of_cells);

// A setting whose processes differ by more than this many times the pooled spread gets its own.
inline constexpr double kUnlikeOthers = 3;

// The estimate from all runs of one setting.
Estimate combine_runs(std::span<const Estimate> runs, const Spread& spread);

// The value at position ceil(p × n) of the n sorted values.
double nearest_rank(std::vector<double> values, double p);

}  // namespace stepscope

// The costs of a sweep's settings as tables of two parameters, and how single figures are written
// there.
#pragma once

#include <cstddef>
#include <string>

#include "present/terminal_text.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// The scanned parameter down, another one across; one table for each setting of the rest. Empty for
// a sweep of fewer than two parameters. Tables too wide are continued below.
std::string sweep_grids(const SweepReport& report, const Palette& palette, std::size_t width);

std::string shortest_text(double value);  // "0.001": as few digits as say it all
std::string rate_text(double value);      // "1.20", "83.1", "12,345", "12.3 M"
// Samples a second; without samples the time of a step.
std::string cost_text(const SweepReport& report, const CellFigures& cell);
// "N/A memory", "N/A time", "N/A crash", "N/A steps"; "not yet".
std::string short_outcome(const CellFigures& cell);

}  // namespace stepscope

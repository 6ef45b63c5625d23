// The costs of a sweep's settings as tables of two parameters, and how single figures are written
// there.
#pragma once

#include <cstddef>
#include <string>

#include "present/terminal_text.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// Tables with the scanned parameter in the rows and another one in the columns, one table for each
// setting of the rest. Empty for a sweep of fewer than two parameters. Tables that are too wide
// continue below.
std::string sweep_grids(const SweepReport& report, const Palette& palette, std::size_t width);

std::string shortest_text(double value);  // "0.001": at most 6 significant digits
std::string rate_text(double value);      // "1.20", "83.1", "12,345", "12.3 M"
// Samples per second; if the number of samples is unknown, the time of a step.
std::string cost_text(const SweepReport& report, const CellFigures& cell);
// "N/A memory", "N/A time", "N/A crash", "N/A steps"; "not yet".
std::string short_outcome(const CellFigures& cell);

}  // namespace stepscope

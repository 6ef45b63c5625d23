#include "present/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

constexpr std::size_t kColumn = 12;

// The parameter of the columns: the first numeric one that varies, else the first one that varies.
std::optional<std::size_t> across_of(const SweepReport& report) {
  std::optional<std::size_t> any;
  for (std::size_t i = 0; i < report.plan.parameters.size(); ++i) {
    const SweepParameter& parameter = report.plan.parameters[i];
    if (i == *report.scanned || parameter.values.size() < 2) continue;
    if (parameter.numeric()) return i;
    if (!any) any = i;
  }
  return any;
}

struct Mark {
  bool best = false;
  bool as_good = false;
};

std::vector<Mark> marks_of(const SweepReport& report) {
  std::vector<Mark> marks(report.cells.size());
  for (const Scan& scan : report.scans) {
    for (const std::size_t cell : scan.as_good) marks[cell].as_good = true;
    if (scan.best) marks[*scan.best].best = true;
  }
  return marks;
}

std::string marked(const SweepReport& report, std::size_t cell, Mark mark, const Palette& palette) {
  const CellFigures& figures = report.cells[cell];
  const std::string text =
      figures.available() ? cost_text(report, figures) : short_outcome(figures);
  const std::string cell_text = pad_left(text + (mark.best      ? "*"
                                                 : mark.as_good ? "~"
                                                                : " "),
                                         kColumn);
  if (mark.best) return palette.green(cell_text);
  return figures.available() || !figures.tried ? cell_text : palette.red(cell_text);
}

// A table: rows by the scanned parameter, columns by another.
struct Grid {
  std::string title;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t>
      cells;  // by the indexes of both values
};

std::vector<Grid> grids_of(const SweepReport& report, std::size_t across) {
  std::vector<Grid> grids;
  std::map<std::vector<std::size_t>, std::size_t> place;
  const SweepPlan& plan = report.plan;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const SweepCell& cell = plan.cells[i];
    std::vector<std::size_t> rest{cell.variant};
    std::string title = plan.variants[cell.variant].name;
    for (std::size_t k = 0; k < plan.parameters.size(); ++k) {
      if (k == *report.scanned || k == across) continue;
      rest.push_back(cell.values[k]);
      title +=
          (title.empty() ? "" : " ") + plan.parameters[k].name + "=" + value_of(plan, cell, k).text;
    }
    const auto [found, is_new] = place.emplace(rest, grids.size());
    if (is_new) grids.push_back({title, {}});
    grids[found->second].cells[{cell.values[*report.scanned], cell.values[across]}] = i;
  }
  return grids;
}

std::string grid_text(const SweepReport& report, const Grid& grid, std::size_t across,
                      std::size_t from, std::size_t to, const Palette& palette) {
  const SweepParameter& down = report.plan.parameters[*report.scanned];
  const SweepParameter& columns = report.plan.parameters[across];
  static constexpr std::size_t kHead = 14;
  std::string text = "  " + pad_right(cut(down.name + " \\ " + columns.name, kHead), kHead);
  for (std::size_t column = from; column < to; ++column) {
    text += pad_left(cut(columns.values[column].text, kColumn - 2) + " ", kColumn);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n";
  const std::vector<Mark> marks = marks_of(report);
  for (std::size_t row = 0; row < down.values.size(); ++row) {
    text += "  " + pad_left(cut(down.values[row].text, kHead - 2), kHead - 2) + "  ";
    for (std::size_t column = from; column < to; ++column) {
      const std::size_t cell = grid.cells.at({row, column});
      text += marked(report, cell, marks[cell], palette);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string shortest_text(double value) { return fmt::format("{:.6g}", value); }

std::string rate_text(double value) {
  if (value >= 999.5e6) return fmt::format("{:.3g} G", value / 1e9);
  if (value >= 9.995e6) return fmt::format("{:.3g} M", value / 1e6);
  if (value >= 99.95) return count_text(std::llround(value));
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : 1);
}

std::string cost_text(const SweepReport& report, const CellFigures& cell) {
  const auto rate = cell.samples_per_second();
  return report.per_sample && rate ? rate_text(*rate) : time_text(cell.step.value);
}

std::string short_outcome(const CellFigures& cell) {
  if (!cell.tried) return "not yet";
  switch (cell.outcome) {
    case SweepOutcome::kOutOfMemory:
      return "N/A memory";
    case SweepOutcome::kTimedOut:
      return "N/A time";
    case SweepOutcome::kCrashed:
      return "N/A crash";
    case SweepOutcome::kNoSteps:
    case SweepOutcome::kOk:
      break;
  }
  return "N/A steps";
}

std::string sweep_grids(const SweepReport& report, const Palette& palette, std::size_t width) {
  if (!report.scanned) return "";
  const auto across = across_of(report);
  if (!across) return "";
  const std::size_t columns = report.plan.parameters[*across].values.size();
  const std::size_t at_once = std::max<std::size_t>((width - 16) / kColumn, 1);
  std::string text;
  for (const Grid& grid : grids_of(report, *across)) {
    text +=
        "\n  " +
        palette.bold(report.per_sample ? "samples/s" : in_units("time of a step", report.unit)) +
        (grid.title.empty() ? "" : "  " + cut(printable(grid.title), width - 40)) +
        "  (* best, ~ as good)\n";
    for (std::size_t from = 0; from < columns; from += at_once) {
      text += grid_text(report, grid, *across, from, std::min(from + at_once, columns), palette);
    }
  }
  return text;
}

}  // namespace stepscope

#include "sweep/scan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/compare/difference.h"
#include "analyzer/median.h"
#include "analyzer/words.h"
#include "sweep/memory_fit.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

double number_of(const SweepReport& report, std::size_t cell) {
  return value_of(report.plan, report.plan.cells[cell], *report.scanned).number.value_or(0);
}

// What a cell shares with the others of its scan: its variant and the values of all other
// parameters.
std::vector<std::size_t> group_of(const SweepReport& report, std::size_t cell) {
  std::vector<std::size_t> group{report.plan.cells[cell].variant};
  for (std::size_t i = 0; i < report.plan.parameters.size(); ++i) {
    if (i != *report.scanned) group.push_back(report.plan.cells[cell].values[i]);
  }
  return group;
}

std::string title_of_group(const SweepReport& report, std::size_t cell) {
  const SweepPlan& plan = report.plan;
  std::string title = plan.variants[plan.cells[cell].variant].name;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    if (i == *report.scanned) continue;
    title += (title.empty() ? "" : " ") + plan.parameters[i].name + "=" +
             value_of(plan, plan.cells[cell], i).text;
  }
  return title;
}

void find_best(const SweepReport& report, Scan& scan) {
  for (const std::size_t cell : scan.cells) {
    const CellFigures& figures = report.cells[cell];
    if (!figures.available()) continue;
    if (!scan.best || figures.cost().value < report.cells[*scan.best].cost().value)
      scan.best = cell;
  }
}

bool is_as_good(const SweepReport& report, const Scan& scan, std::size_t cell) {
  if (cell == *scan.best) return true;
  const CellFigures& figures = report.cells[cell];
  if (!figures.available()) return false;
  const Difference difference = difference_of(report.cells[*scan.best].cost(), figures.cost());
  return difference.is_known() && !difference.changed;
}

void find_as_good(const SweepReport& report, Scan& scan) {
  const auto best = std::find(scan.cells.begin(), scan.cells.end(), *scan.best);
  auto from = best, to = best;
  while (from != scan.cells.begin() && is_as_good(report, scan, *std::prev(from))) --from;
  while (std::next(to) != scan.cells.end() && is_as_good(report, scan, *std::next(to))) ++to;
  scan.good_from = number_of(report, *from);
  scan.good_to = number_of(report, *to);
  std::copy_if(scan.cells.begin(), scan.cells.end(), std::back_inserter(scan.as_good),
               [&](std::size_t cell) { return is_as_good(report, scan, cell); });
}

// Page faults per sample, or per step if the number of samples is unknown.
std::optional<double> faults_each(const CellFigures& cell) {
  if (!cell.minor_faults) return std::nullopt;
  return *cell.minor_faults / cell.samples_per_step.value_or(1);
}

std::string rounded(double value) { return count_text(std::llround(value)); }

std::vector<std::string> pressure_signs(const CellFigures& cell, const CellFigures& best,
                                        const std::string& unit) {
  std::vector<std::string> signs;
  if (cell.pressure_share.value_or(0) >= kPressureShare &&
      *cell.pressure_share > 2 * best.pressure_share.value_or(0)) {
    signs.push_back("some task waited for memory in " + percent_text(*cell.pressure_share) +
                    " of the time (" + percent_text(best.pressure_share.value_or(0)) +
                    " at the best setting)");
  }
  if (cell.major_faults.value_or(0) >= kMajorFaultsAStep) {
    signs.push_back(rounded(*cell.major_faults) +
                    in_units(" pages a step were read back from disk", unit));
  }
  const auto faults = faults_each(cell), usual = faults_each(best);
  if (faults && usual && *cell.minor_faults >= kFaultsAStep && *faults >= kMoreFaults * *usual) {
    signs.push_back(rounded(*cell.minor_faults) + in_units(" page faults a step (", unit) +
                    rounded(*best.minor_faults) + " at the best setting), " +
                    percent_text(cell.system_share) + " of its CPU time in the kernel (" +
                    percent_text(best.system_share) + ")");
  }
  return signs;
}

// The first setting beyond the best that certainly costs more and shows signs of memory pressure.
std::optional<PressureOnset> find_pressure(const SweepReport& report, const Scan& scan) {
  const CellFigures& best = report.cells[*scan.best];
  for (const std::size_t cell : scan.cells) {
    const CellFigures& figures = report.cells[cell];
    if (number_of(report, cell) <= number_of(report, *scan.best) || !figures.available()) continue;
    const Difference difference = difference_of(best.cost(), figures.cost());
    if (!difference.changed || difference.delta() <= 0) continue;
    auto signs = pressure_signs(figures, best, report.unit);
    if (signs.empty()) continue;
    return PressureOnset{cell, figures.cost().value / best.cost().value - 1, std::move(signs)};
  }
  return std::nullopt;
}

// Every run is a point: the differences between runs are part of the uncertainty.
std::vector<MemoryPoint> memory_points(const SweepReport& report, const Scan& scan,
                                       const SweepData& data, bool address) {
  std::vector<MemoryPoint> points;
  for (const SweepRun& run : data.runs) {
    const bool here = std::find(scan.cells.begin(), scan.cells.end(), run.cell) != scan.cells.end();
    if (!here || run.outcome != SweepOutcome::kOk) continue;
    const std::int64_t peak = address ? run.peak_address_bytes.value_or(0) : run.peak_rss_bytes;
    if (peak > 0) points.push_back({number_of(report, run.cell), static_cast<double>(peak)});
  }
  return points;
}

// The memory that the machine usually had available.
double available_bytes(const SweepData& data) {
  std::vector<double> available;
  for (const SweepRun& run : data.runs) {
    if (run.available_bytes) available.push_back(static_cast<double>(*run.available_bytes));
  }
  return available.empty() ? 0 : upper_median(std::move(available));
}

void fit_scan(const SweepReport& report, const SweepData& data, Scan& scan) {
  const std::string limit = report.plan.meta_text("memory_limit_bytes");
  const bool address = !limit.empty();
  const double bytes = address ? std::stod(limit) : available_bytes(data);
  auto [fit, why_not] =
      fit_memory(memory_points(report, scan, data, address), bytes, address ? kSpareAddresses : 0);
  scan.no_memory_fit = std::move(why_not);
  if (!fit) return;
  fit->of_address_space = address;
  for (const std::size_t cell : scan.cells) {
    if (report.cells[cell].outcome != SweepOutcome::kOutOfMemory) continue;
    fit->smallest_that_failed = number_of(report, cell);  // in order: the first is the least
    break;
  }
  scan.memory = std::move(fit);
}

}  // namespace

std::optional<std::size_t> scanned_parameter(const SweepPlan& plan) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (!parameter.numeric() || parameter.values.size() < 2) continue;
    if (parameter.name == "batch") return i;
    if (!first) first = i;
  }
  return first;
}

std::vector<Scan> scan_settings(const SweepReport& report, const SweepData& data) {
  std::vector<Scan> scans;
  if (!report.scanned) return scans;
  std::map<std::vector<std::size_t>, std::size_t> place;
  for (std::size_t cell = 0; cell < report.plan.cells.size(); ++cell) {
    const auto [found, is_new] = place.emplace(group_of(report, cell), scans.size());
    if (is_new) {
      scans.emplace_back();
      scans.back().title = title_of_group(report, cell);
    }
    scans[found->second].cells.push_back(cell);
  }
  for (Scan& scan : scans) {
    std::sort(scan.cells.begin(), scan.cells.end(), [&](std::size_t a, std::size_t b) {
      return number_of(report, a) < number_of(report, b);
    });
    find_best(report, scan);
    fit_scan(report, data, scan);
    if (!scan.best) continue;
    find_as_good(report, scan);
    scan.pressure = find_pressure(report, scan);
  }
  return scans;
}

}  // namespace stepscope

#include "sweep/analyze_sweep.h"

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/words.h"
#include "sweep/cell_figures.h"
#include "sweep/compare_levels.h"
#include "sweep/scan.h"

namespace stepscope {
namespace {

// With fewer steady steps than this, the report says so.
constexpr std::int64_t kEnoughSteps = 20;

std::int64_t whole_number(const std::string& text) { return text.empty() ? 0 : std::stoll(text); }

// A setting that failed is not tried again.
std::int64_t runs_planned(const SweepReport& report, const SweepData& data) {
  std::vector<std::int64_t> made(report.cells.size());
  for (const SweepRun& run : data.runs) ++made[run.cell];
  std::int64_t planned = 0;
  for (const CellFigures& cell : report.cells) {
    const bool failed = cell.outcome != SweepOutcome::kOk;
    planned += failed ? made[cell.cell] : std::max(report.rounds, made[cell.cell]);
  }
  return planned;
}

std::string unit_of(const SweepData& data) {
  const auto is = [](std::int64_t trains) {
    return [trains](const SweepRun& run) { return run.trains == trains; };
  };
  const bool any_trains = std::any_of(data.runs.begin(), data.runs.end(), is(1));
  return !any_trains && std::any_of(data.runs.begin(), data.runs.end(), is(0)) ? "call" : "step";
}

std::string few_steps(const SweepReport& report) {
  const auto few = std::count_if(
      report.cells.begin(), report.cells.end(),
      [](const CellFigures& cell) { return cell.available() && cell.steps < kEnoughSteps; });
  if (few == 0) return {};
  return std::to_string(few) + " of " + std::to_string(report.cells.size()) +
         " settings have fewer than " + std::to_string(kEnoughSteps) +
         in_units(" steady steps; let the program run longer.", report.unit);
}

std::string line_through_two(const SweepReport& report) {
  const bool two = std::any_of(report.scans.begin(), report.scans.end(), [](const Scan& scan) {
    return scan.memory && scan.memory->settings == 2;
  });
  if (!two) return {};
  return "The largest that fits rests on two settings, which always lie on a straight line; a "
         "third would show whether memory grows linearly.";
}

std::vector<std::string> notes_of(const SweepReport& report, const SweepData& data) {
  std::vector<std::string> notes;
  const bool once = std::all_of(report.cells.begin(), report.cells.end(),
                                [](const CellFigures& cell) { return cell.runs < 2; });
  if (once) {
    notes.emplace_back(
        "Each setting ran once: the variation between processes is unknown, so the intervals are "
        "too narrow.");
  }
  if (std::string note = few_steps(report); !note.empty()) notes.push_back(std::move(note));
  if (std::string note = line_through_two(report); !note.empty()) notes.push_back(std::move(note));
  std::int64_t lost = 0;
  for (const SweepRun& run : data.runs) lost += run.lost_events;
  if (lost > 0) notes.push_back(count_text(lost) + " events were lost while recording.");
  return notes;
}

}  // namespace

SweepReport analyze_sweep(const SweepData& data) {
  SweepReport report;
  report.plan = data.plan;
  report.cells = figures_of_cells(data);
  report.rounds = whole_number(data.plan.meta_text("rounds"));
  report.runs_made = static_cast<std::int64_t>(data.runs.size());
  report.runs_planned = runs_planned(report, data);
  const auto has_samples = [](const CellFigures& cell) {
    return !cell.available() || cell.samples_per_step.has_value();
  };
  report.per_sample = std::all_of(report.cells.begin(), report.cells.end(), has_samples) &&
                      std::any_of(report.cells.begin(), report.cells.end(),
                                  [](const CellFigures& cell) { return cell.available(); });
  report.unit = unit_of(data);
  report.scanned = scanned_parameter(report.plan);
  report.scans = scan_settings(report, data);
  report.comparisons = compare_levels(report);
  std::set<std::string> versions;
  for (const SweepRun& run : data.runs) {
    if (!run.torch_version.empty()) versions.insert(run.torch_version);
  }
  report.torch_versions.assign(versions.begin(), versions.end());
  report.notes = notes_of(report, data);
  return report;
}

}  // namespace stepscope

#include "sweep/cell_figures.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

double mean_of(std::span<const Estimate> runs) {
  double sum = 0;
  for (const Estimate& run : runs) sum += run.value;
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

double squares_of(std::span<const Estimate> runs) {
  const double mean = mean_of(runs);
  double sum = 0;
  for (const Estimate& run : runs) sum += (run.value - mean) * (run.value - mean);
  return sum;
}

std::vector<double> steady_steps(const SweepRun& run) {
  std::vector<double> times;
  for (const SweepStep& step : run.steps) {
    if (step.steady) times.push_back(static_cast<double>(step.dur_ns));
  }
  return times;
}

// A share that is known for some runs and not for others.
class Share {
 public:
  void add(const std::optional<double>& part, double whole) {
    if (!part) return;
    part_ += *part;
    whole_ += whole;
  }
  [[nodiscard]] std::optional<double> value() const {
    return whole_ > 0 ? std::optional(part_ / whole_) : std::nullopt;
  }

 private:
  double part_ = 0, whole_ = 0;
};

// Sums over the runs of one setting.
struct Sums {
  std::vector<double> times;
  std::vector<Estimate> runs;
  Share input, minor_faults, major_faults, pressure, samples;
  double user_ns = 0, system_ns = 0;

  void add(const SweepRun& run, CellFigures& cell);
};

void Sums::add(const SweepRun& run, CellFigures& cell) {
  const std::vector<double> steps = steady_steps(run);
  times.insert(times.end(), steps.begin(), steps.end());
  runs.push_back(estimate_mean(steps));
  const double count = static_cast<double>(steps.size());
  for (const SweepStep& step : run.steps) {
    if (!step.steady || !step.input_ns) continue;
    input.add(static_cast<double>(*step.input_ns), static_cast<double>(step.dur_ns));
  }
  minor_faults.add(run.loop_minor_faults, count);
  major_faults.add(run.loop_major_faults, count);
  if (run.loop_ns) pressure.add(run.loop_pressure_ns, static_cast<double>(*run.loop_ns));
  samples.add(run.samples_per_step, 1);
  user_ns += static_cast<double>(run.cpu_user_ns);
  system_ns += static_cast<double>(run.cpu_system_ns);
  cell.peak_rss_bytes = std::max(cell.peak_rss_bytes, static_cast<double>(run.peak_rss_bytes));
  if (run.peak_address_bytes) {
    cell.peak_address_bytes =
        std::max(cell.peak_address_bytes.value_or(0), static_cast<double>(*run.peak_address_bytes));
  }
}

void fill(const Sums& sums, const Spread& spread, CellFigures& cell) {
  cell.runs = static_cast<std::int64_t>(sums.runs.size());
  cell.steps = static_cast<std::int64_t>(sums.times.size());
  if (sums.times.empty()) return;
  cell.step = combine_runs(sums.runs, spread);
  cell.p50_ns = nearest_rank(sums.times, 0.5);
  cell.p99_ns = nearest_rank(sums.times, 0.99);
  cell.samples_per_step = sums.samples.value();
  cell.input_share = sums.input.value();
  cell.minor_faults = sums.minor_faults.value();
  cell.major_faults = sums.major_faults.value();
  cell.pressure_share = sums.pressure.value();
  const double cpu = sums.user_ns + sums.system_ns;
  cell.system_share = cpu > 0 ? sums.system_ns / cpu : 0;
}

bool is_of_whole_runs(const SweepPlan& plan) { return !plan.meta_text("samples_per_run").empty(); }

// The steps of a run that is measured as a whole are not a random sample: they are all of its
// steps, each does its own work, and they are the same in every run. So only runs differ by chance.
void forget_steps(std::vector<Sums>& sums) {
  for (Sums& sum : sums) {
    for (Estimate& run : sum.runs) run.error = 0;
  }
}

}  // namespace

Estimate CellFigures::cost() const {
  Estimate cost = step;
  if (!samples_per_step) return cost;
  cost.value /= *samples_per_step;
  cost.error /= *samples_per_step;
  return cost;
}

std::optional<double> CellFigures::samples_per_second() const {
  if (!samples_per_step || step.value <= 0) return std::nullopt;
  return 1e9 * *samples_per_step / step.value;
}

double nearest_rank(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  constexpr double kRounding = 1e-9;  // 0.99 × 100 is slightly more than 99
  const double place = std::ceil(p * static_cast<double>(values.size()) - kRounding);
  const auto index = static_cast<std::ptrdiff_t>(std::max(place, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

Spread spread_of(std::span<const std::vector<Estimate>> runs_of_cells) {
  Spread spread;
  double sum = 0;
  for (const std::vector<Estimate>& runs : runs_of_cells) {
    const double mean = mean_of(runs);
    if (runs.size() < 2 || mean <= 0) continue;
    sum += squares_of(runs) / (mean * mean);
    spread.freedom += static_cast<double>(runs.size() - 1);
  }
  if (spread.freedom > 0) spread.relative = std::sqrt(sum / spread.freedom);
  return spread;
}

Estimate combine_runs(std::span<const Estimate> runs, const Spread& spread) {
  Estimate all;
  if (runs.empty()) return all;
  const double count = static_cast<double>(runs.size());
  all.value = mean_of(runs);
  all.steps = count;
  double within = 0;
  for (const Estimate& run : runs) {
    within += run.error * run.error;
    all.pieces += run.pieces;
  }
  all.error = std::sqrt(within) / count;
  if (spread.freedom <= 0) return all;
  const double own = runs.size() > 1 ? std::sqrt(squares_of(runs) / (count - 1)) : 0;
  const bool unlike = own > kUnlikeOthers * spread.relative * all.value;
  const double between = (unlike ? own : spread.relative * all.value) / std::sqrt(count);
  if (between <= all.error) return all;
  all.error = between;
  all.pieces = (unlike ? count - 1 : spread.freedom) + 1;
  return all;
}

std::vector<CellFigures> figures_of_cells(const SweepData& data) {
  const std::size_t count = data.plan.cells.size();
  std::vector<CellFigures> cells(count);
  std::vector<Sums> sums(count);
  for (std::size_t i = 0; i < count; ++i) cells[i].cell = i;
  for (const SweepRun& run : data.runs) {
    CellFigures& cell = cells[run.cell];
    cell.tried = true;
    if (run.outcome == SweepOutcome::kOk) {
      sums[run.cell].add(run, cell);
    } else if (cell.outcome == SweepOutcome::kOk) {
      cell.outcome = run.outcome;
      cell.cause = run.cause;
    }
  }
  std::vector<std::vector<Estimate>> runs;
  for (const Sums& sum : sums) runs.push_back(sum.runs);
  const Spread spread = spread_of(runs);
  if (spread.freedom > 0 && is_of_whole_runs(data.plan)) forget_steps(sums);
  for (std::size_t i = 0; i < count; ++i) fill(sums[i], spread, cells[i]);
  return cells;
}

}  // namespace stepscope

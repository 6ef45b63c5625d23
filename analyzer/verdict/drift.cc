#include "analyzer/verdict/drift.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/mean.h"
#include "analyzer/verdict/cause.h"
#include "analyzer/verdict/trend.h"

namespace stepscope {
namespace {

// Which values are early (indexes below `early`) and which late (from `late` on): the first and the
// last third, or the two sides of a jump.
struct Ends {
  std::size_t early = 0, late = 0;

  Ends(const Trend& trend, const std::vector<std::int64_t>& numbers) {
    const auto jump = std::lower_bound(numbers.begin(), numbers.end(), trend.jump_at);
    early =
        trend.jump_at == 0 ? numbers.size() / 3 : static_cast<std::size_t>(jump - numbers.begin());
    late = trend.jump_at == 0 ? numbers.size() - early : early;
  }
  [[nodiscard]] double change(const std::vector<double>& values) const {
    const std::span<const double> all(values);
    return mean_of(all.subspan(late)) - mean_of(all.first(early));
  }
};

using Members = std::vector<std::size_t>;

constexpr double kFewSteps = 0.05;  // of the usual kind: that stretch of the run is of other kinds

struct StepSeries {
  Members members;
  std::vector<double> times;
  std::vector<std::int64_t> numbers;
  std::optional<Trend> trend;

  StepSeries(const LoopReport& report, Members chosen) : members(std::move(chosen)) {
    for (const std::size_t i : members) {
      times.push_back(static_cast<double>(to_ns(report.steps[i].dur)));
      numbers.push_back(report.steps[i].number);
    }
    trend = trend_of(times, numbers);
  }
};

Members all_members(const LoopReport& report) {
  Members all;
  for (const Population& kind : report.populations)
    all.insert(all.end(), kind.members.begin(), kind.members.end());
  std::sort(all.begin(), all.end());
  return all;
}

// Whether the usual steps end or begin at the jump, so that their own trend would not show it.
bool usual_steps_are_on_one_side(const LoopReport& report, const StepSeries& all) {
  const std::int64_t jump_at = all.trend->jump_at;
  if (jump_at == 0) return false;
  std::array<double, 2> steps = {}, usual = {};  // before the jump, after it
  for (const std::int64_t number : all.numbers) ++steps[number >= jump_at];
  for (const std::size_t i : report.populations.front().members)
    ++usual[report.steps[i].number >= jump_at];
  return usual[0] <= kFewSteps * steps[0] || usual[1] <= kFewSteps * steps[1];
}

// The cause that changed most in the direction of the trend.
Cause cause_of(const LoopReport& report, const std::vector<std::size_t>& members, const Ends& ends,
               const Trend& trend) {
  Cause most;
  double most_change = 0;
  for (const auto& [cause, times] : cause_times(report.steps, members)) {
    const double change = ends.change(times) * (trend.change < 0 ? -1 : 1);
    if (change <= most_change) continue;
    most_change = change;
    most = cause;
  }
  return most;
}

}  // namespace

std::optional<Drift> find_drift(const LoopReport& report) {
  if (report.populations.empty()) return std::nullopt;
  StepSeries steps(report, all_members(report));
  if (report.populations.size() > 1 && !(steps.trend && usual_steps_are_on_one_side(report, steps)))
    steps = StepSeries(report, report.populations.front().members);
  if (!steps.trend) return std::nullopt;
  const Ends ends(*steps.trend, steps.numbers);
  Drift drift;
  drift.trend = *steps.trend;
  drift.cause = cause_of(report, steps.members, ends, *steps.trend);
  drift.thirds = {steps.numbers[ends.late], steps.numbers[ends.early]};
  drift.between_thirds_ns = ends.change(steps.times);
  return drift;
}

}  // namespace stepscope

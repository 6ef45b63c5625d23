#include "analyzer/verdict/drift.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "analyzer/verdict/cause.h"
#include "analyzer/verdict/trend.h"

namespace stepscope {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

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
    return mean(all.subspan(late)) - mean(all.first(early));
  }
};

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
  const std::vector<std::size_t>& members = report.populations.front().members;
  std::vector<double> times;
  std::vector<std::int64_t> numbers;
  for (const std::size_t i : members) {
    times.push_back(static_cast<double>(to_ns(report.steps[i].dur)));
    numbers.push_back(report.steps[i].number);
  }
  const auto trend = trend_of(times, numbers);
  if (!trend) return std::nullopt;
  const Ends ends(*trend, numbers);
  Drift drift;
  drift.trend = *trend;
  drift.cause = cause_of(report, members, ends, *trend);
  drift.thirds = {numbers[ends.late], numbers[ends.early]};
  drift.between_thirds_ns = ends.change(times);
  return drift;
}

}  // namespace stepscope

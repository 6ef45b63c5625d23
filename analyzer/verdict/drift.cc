#include "analyzer/verdict/drift.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "analyzer/words.h"

namespace stepscope {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

// How many steps come before the jump, or a third of them.
std::size_t early_steps(const Trend& trend, const std::vector<std::int64_t>& numbers) {
  if (trend.jump_at == 0) return numbers.size() / 3;
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), trend.jump_at);
  return static_cast<std::size_t>(at - numbers.begin());
}

// The cause that changed most in the direction of the trend.
Cause cause_of(const LoopReport& report, const std::vector<std::size_t>& members,
               const std::vector<std::int64_t>& numbers, const Trend& trend) {
  const std::size_t early = early_steps(trend, numbers);
  const std::size_t late = trend.jump_at == 0 ? numbers.size() - early : early;
  Cause most;
  double most_change = 0;
  for (const auto& [cause, times] : cause_times(report.steps, members)) {
    const std::span<const double> all(times);
    const double change =
        (mean(all.subspan(late)) - mean(all.first(early))) * (trend.change < 0 ? -1 : 1);
    if (change <= most_change) continue;
    most_change = change;
    most = cause;
  }
  return most;
}

std::string signed_time(double ns) { return (ns < 0 ? "-" : "+") + time_text(std::abs(ns)); }

std::string sentence_of(const Drift& drift) {
  const Trend& t = drift.trend;
  const std::string word = t.change > 0 ? "slower" : "faster";
  const std::string size = signed_time(t.change) + " (95 % CI " + signed_time(t.change_ci.low) +
                           " to " + signed_time(t.change_ci.high) + ")";
  const std::string where = ", most of it in " + cause_text(drift.cause) + ".";
  if (t.jump_at > 0) {
    return "From step " + std::to_string(t.jump_at) + " on the steps are " + word + ": " + size +
           where;
  }
  return "The steps get " + word + ": " + size + " over the run" + where;
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
  Drift drift{*trend, cause_of(report, members, numbers, *trend), ""};
  drift.sentence = sentence_of(drift);
  return drift;
}

}  // namespace stepscope

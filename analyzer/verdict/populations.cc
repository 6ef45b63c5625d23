#include "analyzer/verdict/populations.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepscope {
namespace {

// Of sorted values.
double quantile(std::span<const double> sorted, double q) {
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

double spread(std::span<const double> sorted) {
  return quantile(sorted, 0.9) - quantile(sorted, 0.1);
}

}  // namespace

std::optional<Split> split_populations(std::span<const double> step_times) {
  const std::size_t count = step_times.size();
  if (count < kLeastSteps) return std::nullopt;
  std::vector<double> logs;
  for (const double time : step_times) logs.push_back(std::log(std::max(time, 1.0)));
  std::sort(logs.begin(), logs.end());

  const std::size_t least = std::max<std::size_t>(3, (count + 49) / 50);
  std::size_t at = least;
  for (std::size_t i = least; i <= count - least; ++i) {
    if (logs[i] - logs[i - 1] > logs[at] - logs[at - 1]) at = i;
  }
  const auto fast = std::span<const double>(logs).first(at);
  const auto slow = std::span<const double>(logs).subspan(at);
  const double gap = slow.front() - fast.back();
  if (gap < kLeastGap * std::max(spread(fast), spread(slow))) return std::nullopt;
  if (quantile(slow, 0.5) - quantile(fast, 0.5) < std::log(kLeastRatio)) return std::nullopt;

  Split split{std::exp((slow.front() + fast.back()) / 2), {}};
  for (std::size_t i = 0; i < count; ++i) {
    if (step_times[i] >= split.threshold) split.slow.push_back(i);
  }
  return split;
}

std::size_t period_of(std::span<const std::size_t> slow) {
  if (slow.size() < 3) return 0;
  std::map<std::size_t, std::size_t> distances;
  for (std::size_t i = 1; i < slow.size(); ++i) ++distances[slow[i] - slow[i - 1]];
  const auto most =
      std::max_element(distances.begin(), distances.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool regular = most->second * 5 >= (slow.size() - 1) * 4;
  return regular && most->first >= 2 ? most->first : 0;
}

}  // namespace stepscope

#include "analyzer/verdict/rhythm.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepscope {
namespace {

using Counts = std::map<std::int64_t, std::int64_t>;

Counts::value_type most_frequent(const Counts& counts) {
  return *std::max_element(counts.begin(), counts.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// ln of a bound on the probability that at least `equal` of the distances between `count` places,
// drawn at random from `among`, are the same number. With q = count / among, a distance is d with
// probability q (1 - q)^(d - 1). Summed over all choices of the equal ones, and over all d.
double log_chance(double equal, double count, double among) {
  const double q = std::min(0.5, count / among);
  return log_binomial(count - 1, equal) + equal * std::log(q) - std::log1p(-std::pow(1 - q, equal));
}

}  // namespace

Rhythm rhythm_of(std::span<const std::int64_t> numbers, std::int64_t among) {
  if (numbers.size() < 3) return {};
  Counts distances;
  for (std::size_t i = 1; i < numbers.size(); ++i) ++distances[numbers[i] - numbers[i - 1]];
  const auto [period, equal] = most_frequent(distances);
  if (period < 2 || equal < 2) return {};

  Counts beats;
  for (const std::int64_t number : numbers) ++beats[number % period];
  const auto [beat, on_beat] = most_frequent(beats);
  const auto is_on_beat = [period = period, beat = beat](std::int64_t number) {
    return number % period == beat;
  };
  const std::int64_t first = *std::find_if(numbers.begin(), numbers.end(), is_on_beat);
  const std::int64_t last = *std::find_if(numbers.rbegin(), numbers.rend(), is_on_beat);
  const auto count = static_cast<double>(numbers.size());
  const auto places = static_cast<double>((last - first) / period + 1);
  if (static_cast<double>(on_beat) < kOnBeat * count) return {};
  if (static_cast<double>(on_beat) < kFilled * places) return {};

  const double log_p = log_chance(static_cast<double>(equal), count,
                                  static_cast<double>(std::max<std::int64_t>(among, 1)));
  return {period, first, std::min(0.0, log_p)};
}

}  // namespace stepscope

#include "analyzer/verdict/trend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analyzer/median.h"

namespace stepscope {
namespace {

struct Points {
  std::vector<double> x, y;
};

Points blocks_of(std::span<const double> values, std::span<const std::int64_t> numbers) {
  const std::size_t count = values.size();
  const std::size_t blocks = std::min(count, kMaxBlocksOfTrend);
  Points points;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t from = block * count / blocks, to = (block + 1) * count / blocks;
    points.x.push_back(static_cast<double>(numbers[from] + numbers[to - 1]) / 2);
    points.y.push_back(upper_median({values.begin() + static_cast<std::ptrdiff_t>(from),
                                     values.begin() + static_cast<std::ptrdiff_t>(to)}));
  }
  return points;
}

double sign(double value) { return static_cast<double>((value > 0) - (value < 0)); }

// Kendall's S, and the slopes of all pairs.
double compare_pairs(const Points& points, std::vector<double>& slopes) {
  double s = 0;
  for (std::size_t j = 1; j < points.x.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const double rise = points.y[j] - points.y[i];
      s += sign(rise);
      slopes.push_back(rise / (points.x[j] - points.x[i]));
    }
  }
  return s;
}

// Ranks from 1; equal values share their mean rank.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i)
      ranks[order[i]] = static_cast<double>(from + to + 1) / 2;
  }
  return ranks;
}

// Autocorrelation of `values` about their mean.
class Autocorrelation {
 public:
  explicit Autocorrelation(std::vector<double> values) : values_(std::move(values)) {
    const double mean =
        std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
    for (double& value : values_) value -= mean;
    variance_ = std::inner_product(values_.begin(), values_.end(), values_.begin(), 0.0);
  }
  [[nodiscard]] double at(std::size_t lag) const {
    if (variance_ <= 0) return 0;
    return std::inner_product(values_.begin(), values_.end() - static_cast<std::ptrdiff_t>(lag),
                              values_.begin() + static_cast<std::ptrdiff_t>(lag), 0.0) /
           variance_;
  }

 private:
  std::vector<double> values_;
  double variance_ = 0;
};

// By how much dependence enlarges the variance of S; at least 1. `rest`: the residuals of the
// trend.
double variance_factor(const std::vector<double>& rest) {
  const Autocorrelation correlation(ranks_of(rest));
  const auto n = static_cast<double>(rest.size());
  const double significant = 1.96 / std::sqrt(n);
  double sum = 0;
  for (std::size_t lag = 1; lag <= rest.size() / 4; ++lag) {
    const double r = correlation.at(lag);
    const double left = n - static_cast<double>(lag);
    if (std::abs(r) > significant) sum += left * (left - 1) * (left - 2) * r;
  }
  const double hamed_rao = 1 + 2 / (n * (n - 1) * (n - 2)) * sum;
  // Estimates of a correlation from few values are too low, by (1 + 3 r) / n (Kendall 1954).
  const double lag_1 = correlation.at(1);
  const double r = std::clamp(lag_1 + (1 + 3 * lag_1) / n, 0.0, 0.98);
  return std::max(hamed_rao, (1 + r) / (1 - r));
}

// The index from which the level differs most from the level before: where two levels have the
// least squared residuals, with the values clipped to their 5 % and 95 % quantiles.
std::size_t change_point(std::span<const double> values) {
  std::vector<double> cut(values.begin(), values.end());
  std::sort(cut.begin(), cut.end());
  const double low = cut[cut.size() / 20], high = cut[cut.size() - 1 - cut.size() / 20];
  for (std::size_t i = 0; i < values.size(); ++i) cut[i] = std::clamp(values[i], low, high);
  const auto count = static_cast<double>(cut.size());
  const double mean = std::accumulate(cut.begin(), cut.end(), 0.0) / count;
  double sum = 0, most = -1;
  std::size_t at = 1;
  for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
    sum += cut[i] - mean;
    const auto early = static_cast<double>(i + 1);
    const double gained = sum * sum / (early * (count - early));
    if (gained <= most) continue;
    most = gained;
    at = i + 1;
  }
  return at;
}

double absolute_sum(const std::vector<double>& values) {
  const double level = upper_median(values);
  double sum = 0;
  for (const double value : values) sum += std::abs(value - level);
  return sum;
}

std::vector<double> rest_of_line(const Points& points, double slope) {
  std::vector<double> rest;
  for (std::size_t i = 0; i < points.x.size(); ++i)
    rest.push_back(points.y[i] - slope * points.x[i]);
  return rest;
}

// Two levels, separated at index `at`.
struct Levels {
  std::size_t at = 0;
  double early = 0, late = 0;

  explicit Levels(std::span<const double> values) : Levels(values, change_point(values)) {}
  Levels(std::span<const double> values, std::size_t change) : at(change) {
    early = upper_median({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at)});
    late = upper_median({values.begin() + static_cast<std::ptrdiff_t>(at), values.end()});
  }
  [[nodiscard]] std::vector<double> rest(std::span<const double> values) const {
    std::vector<double> rest;
    for (std::size_t i = 0; i < values.size(); ++i)
      rest.push_back(values[i] - (i < at ? early : late));
    return rest;
  }
};

// The standard error of a median, from the median absolute deviation, as for normal values.
double median_error(std::span<const double> rest) {
  std::vector<double> deviations;
  for (const double value : rest) deviations.push_back(std::abs(value));
  return 1.2533 * 1.4826 * upper_median(deviations) / std::sqrt(static_cast<double>(rest.size()));
}

// The values from the 10 % to the 90 % quantile.
Interval bulk_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t cut = sorted.size() / 10;
  return {sorted[cut], sorted[sorted.size() - 1 - cut]};
}

// Levels of which one may be too short for change_point(), which clips the values.
Levels uneven_levels(std::span<const double> values) {
  return {values, change_point(ranks_of(values))};
}

// Whether the level changes so plainly that even a stretch too short for the test of a trend shows
// it: the gap between the levels is kPlainGap times as wide as either.
bool changes_plainly(std::span<const double> values) {
  const std::size_t at = uneven_levels(values).at;
  if (std::min(at, values.size() - at) < kMinOfALevel) return false;
  const Interval early = bulk_of(values.first(at)), late = bulk_of(values.subspan(at));
  const double width = std::max(early.high - early.low, late.high - late.low);
  return std::max(late.low - early.high, early.low - late.high) > kPlainGap * width;
}

// `factor`: enlarges the variance, for dependent values.
void describe_jump(std::span<const double> values, std::span<const std::int64_t> numbers,
                   const Levels& levels, double factor, Trend& trend) {
  const std::vector<double> rest = levels.rest(values);
  const std::span<const double> all(rest);
  const double error =
      1.96 * std::sqrt(factor) *
      std::hypot(median_error(all.first(levels.at)), median_error(all.subspan(levels.at)));
  trend.jump_at = numbers[levels.at];
  trend.change = levels.late - levels.early;
  trend.change_ci = {trend.change - error, trend.change + error};
}

}  // namespace

std::optional<Trend> trend_of(std::span<const double> values,
                              std::span<const std::int64_t> numbers) {
  if (values.size() < kMinOfTrend) return std::nullopt;
  const Points points = blocks_of(values, numbers);
  std::vector<double> slopes;
  const double s = compare_pairs(points, slopes);
  Trend trend;
  trend.slope = upper_median(slopes);
  trend.level = upper_median({values.begin(), values.end()});

  std::vector<double> rest = rest_of_line(points, trend.slope);
  const std::vector<double> rest_of_levels = Levels(points.y).rest(points.y);
  bool jumps = absolute_sum(rest_of_levels) <= kJumpRest * absolute_sum(rest);
  if (jumps) rest = rest_of_levels;
  const auto n = static_cast<double>(points.x.size());
  double factor = variance_factor(rest);
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18 * factor);
  const bool is_uneven = (std::abs(s) - 1) / deviation < kTrendZ;
  if (is_uneven) {
    if (!changes_plainly(points.y)) return std::nullopt;
    jumps = true;
    factor = variance_factor(uneven_levels(points.y).rest(points.y));
  }

  std::sort(slopes.begin(), slopes.end());
  const auto pairs = static_cast<double>(slopes.size());
  const auto slope_at = [&](double rank) {
    return slopes[static_cast<std::size_t>(std::clamp(rank, 0.0, pairs - 1))];
  };
  trend.slope_ci = {slope_at((pairs - 1.96 * deviation) / 2),
                    slope_at((pairs + 1.96 * deviation) / 2)};
  const auto span = static_cast<double>(numbers.back() - numbers.front());
  trend.change = trend.slope * span;
  trend.change_ci = {trend.slope_ci.low * span, trend.slope_ci.high * span};
  if (jumps) {
    const Levels levels = is_uneven ? uneven_levels(values) : Levels(values);
    describe_jump(values, numbers, levels, factor, trend);
  }
  if (std::abs(trend.change) < kMinDrift * trend.level) return std::nullopt;
  return trend;
}

}  // namespace stepscope

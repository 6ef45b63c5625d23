#include "analyzer/sweep/memory_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/compare/student_t.h"

namespace stepscope {
namespace {

struct Line {
  double mean_x = 0, mean_y = 0;
  double slope = 0;
  double spread_x = 0;  // sum of squares
  double variance = 0;  // of the points about the line
  double count = 0;

  [[nodiscard]] double base() const { return mean_y - slope * mean_x; }
  [[nodiscard]] double freedom() const { return count - 2; }
};

Line line_through(const std::vector<MemoryPoint>& points) {
  Line line;
  line.count = static_cast<double>(points.size());
  for (const MemoryPoint& p : points) {
    line.mean_x += p.value / line.count;
    line.mean_y += p.bytes / line.count;
  }
  double product = 0;
  for (const MemoryPoint& p : points) {
    line.spread_x += (p.value - line.mean_x) * (p.value - line.mean_x);
    product += (p.value - line.mean_x) * (p.bytes - line.mean_y);
  }
  line.slope = line.spread_x > 0 ? product / line.spread_x : 0;
  for (const MemoryPoint& p : points) {
    const double off = p.bytes - line.base() - line.slope * p.value;
    line.variance += off * off;
  }
  line.variance = line.freedom() > 0 ? line.variance / line.freedom() : 0;
  return line;
}

std::size_t distinct_values(const std::vector<MemoryPoint>& points) {
  std::set<double> values;
  for (const MemoryPoint& p : points) values.insert(p.value);
  return values.size();
}

// By the means of each value: choosing single runs by their peak would choose their noise.
std::vector<MemoryPoint> above_the_floor(std::span<const MemoryPoint> points) {
  std::map<double, std::pair<double, double>> sums;  // by value: of bytes, and of runs
  for (const MemoryPoint& p : points) {
    sums[p.value].first += p.bytes;
    sums[p.value].second += 1;
  }
  const auto mean = [&](double value) { return sums.at(value).first / sums.at(value).second; };
  double least = mean(sums.begin()->first), most = least;
  for (const auto& [value, sum] : sums) {
    least = std::min(least, mean(value));
    most = std::max(most, mean(value));
  }
  std::vector<MemoryPoint> above;
  std::copy_if(points.begin(), points.end(), std::back_inserter(above), [&](const MemoryPoint& p) {
    return mean(p.value) > least + kFloor * (most - least);
  });
  if (distinct_values(above) >= 3) return above;
  return {points.begin(), points.end()};
}

// Down to a whole value; what is one but for rounding is one.
double whole_value(double value) {
  constexpr double kRounding = 1e-6;
  return std::max(std::floor(value + kRounding), 0.0);
}

// The x of (limit - base - slope x)² = t² s² (1 + 1/n + (x - mean)²/Sxx), a quadratic in x - mean.
std::optional<Interval> inverse_prediction(const Line& line, double limit) {
  if (line.freedom() < 1) return std::nullopt;
  const double t = student_quantile(0.95, line.freedom());
  const double g = t * t * line.variance;
  const double quadratic = line.slope * line.slope - g / line.spread_x;
  if (quadratic <= 0) return std::nullopt;  // the slope itself is not told from 0
  const double distance = limit - line.mean_y;
  const double middle = line.slope * distance / quadratic;
  const double constant = (distance * distance - g * (1 + 1 / line.count)) / quadratic;
  const double reach = std::sqrt(std::max(middle * middle - constant, 0.0));
  return Interval{line.mean_x + middle - reach, line.mean_x + middle + reach};
}

}  // namespace

std::optional<MemoryFit> fit_memory(std::span<const MemoryPoint> points, double limit) {
  if (points.empty() || limit <= 0) return std::nullopt;
  const std::vector<MemoryPoint> used = above_the_floor(points);
  const std::size_t settings = distinct_values(used);
  const Line line = line_through(used);
  if (settings < 2 || line.slope <= 0) return std::nullopt;
  MemoryFit fit;
  fit.base_bytes = line.base();
  fit.each_bytes = line.slope;
  fit.limit_bytes = limit;
  fit.settings = static_cast<std::int64_t>(settings);
  fit.largest = whole_value((limit - line.base()) / line.slope);
  if (settings < 3) return fit;
  const auto interval = inverse_prediction(line, limit);
  if (!interval) return std::nullopt;
  fit.interval = Interval{whole_value(interval->low), whole_value(interval->high)};
  return fit;
}

}  // namespace stepscope

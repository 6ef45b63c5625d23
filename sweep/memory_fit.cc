#include "sweep/memory_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/compare/student_t.h"

namespace stepscope {
namespace {

constexpr double kFewFreedom = 3;  // below this, t is so large that clear growth may go unseen

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

// The runs of each value, in the order of values.
struct Settings {
  explicit Settings(std::span<const MemoryPoint> points) {
    for (const MemoryPoint& p : points) {
      sums[p.value].first += p.bytes;
      sums[p.value].second += 1;
    }
  }
  [[nodiscard]] std::size_t count() const { return sums.size(); }
  [[nodiscard]] double mean(double value) const {
    const auto& [bytes, runs] = sums.at(value);
    return bytes / runs;
  }
  [[nodiscard]] std::vector<MemoryPoint> means() const {
    std::vector<MemoryPoint> points;
    for (const auto& [value, sum] : sums) points.push_back({value, sum.first / sum.second});
    return points;
  }

  std::map<double, std::pair<double, double>> sums;  // by value: of bytes, and of runs
};

// Selects by the mean of each value: selecting single runs by their peak would select their noise.
std::vector<MemoryPoint> above_the_floor(std::span<const MemoryPoint> points) {
  const Settings settings(points);
  const std::vector<MemoryPoint> means = settings.means();
  const auto [least, most] = std::minmax_element(
      means.begin(), means.end(),
      [](const MemoryPoint& a, const MemoryPoint& b) { return a.bytes < b.bytes; });
  const double floor = least->bytes + kFloor * (most->bytes - least->bytes);
  std::vector<MemoryPoint> above;
  std::copy_if(points.begin(), points.end(), std::back_inserter(above),
               [&](const MemoryPoint& p) { return settings.mean(p.value) > floor; });
  if (Settings(above).count() >= 3) return above;
  return {points.begin(), points.end()};
}

// Whether the means of the values deviate from the line by more than the runs of each value deviate
// from their mean, at the 5 % level.
bool is_bent(const std::vector<MemoryPoint>& points, const Line& line) {
  const Settings settings(points);
  const double between = static_cast<double>(settings.count()) - 2;
  const double within = line.count - static_cast<double>(settings.count());
  if (between < 1 || within < 1) return false;
  double of_runs = 0;
  for (const MemoryPoint& p : points) {
    of_runs += (p.bytes - settings.mean(p.value)) * (p.bytes - settings.mean(p.value));
  }
  const double of_means = std::max(line.variance * line.freedom() - of_runs, 0.0);
  // Peaks are whole pages: even if runs agree more closely than a page, a deviation of a few bytes
  // is no bend.
  constexpr double kPage = 4096;
  const double spread = std::max(of_runs / within, kPage * kPage);
  return fisher_p(of_means / between / spread, between, within) < 0.05;
}

// Rounds down to a whole value; a value that is whole but for a rounding error counts as whole.
double whole_value(double value) {
  constexpr double kRounding = 1e-6;
  return std::max(std::floor(value + kRounding), 0.0);
}

// The x of (limit - base - slope x)² = t² s² (1 + 1/n + (x - mean)²/Sxx), a quadratic in x - mean.
std::optional<Interval> inverse_prediction(const Line& line, double limit) {
  const double t = student_quantile(0.95, line.freedom());
  const double g = t * t * line.variance;
  const double quadratic = line.slope * line.slope - g / line.spread_x;
  if (quadratic <= 0) return std::nullopt;  // the slope cannot be distinguished from 0
  const double distance = limit - line.mean_y;
  const double middle = line.slope * distance / quadratic;
  const double constant = (distance * distance - g * (1 + 1 / line.count)) / quadratic;
  const double reach = std::sqrt(std::max(middle * middle - constant, 0.0));
  return Interval{line.mean_x + middle - reach, line.mean_x + middle + reach};
}

}  // namespace

MemoryFitResult fit_memory(std::span<const MemoryPoint> points, double limit, double spare) {
  if (Settings(points).count() < 2) return {std::nullopt, "needs 2 settings"};
  if (limit <= 0) return {std::nullopt, "limit not known"};
  const std::vector<MemoryPoint> used = above_the_floor(points);
  const Settings settings(used);
  Line line = line_through(used);
  if (is_bent(used, line)) line = line_through(settings.means());
  if (line.slope <= 0) return {std::nullopt, "does not grow"};
  MemoryFit fit;
  fit.base_bytes = line.base();
  fit.each_bytes = line.slope;
  fit.limit_bytes = limit;
  fit.settings = static_cast<std::int64_t>(settings.count());
  fit.largest = whole_value((limit - line.base()) / line.slope);
  if (line.freedom() < 1) return {fit, ""};  // two runs: a point
  const auto interval = inverse_prediction(line, limit);
  const auto without_spare = inverse_prediction(line, limit + spare);
  if (!interval || !without_spare) {
    return {std::nullopt,
            line.freedom() < kFewFreedom ? "needs more settings" : "grows too little to tell"};
  }
  fit.interval = Interval{whole_value(interval->low), whole_value(without_spare->high)};
  return {fit, ""};
}

}  // namespace stepscope

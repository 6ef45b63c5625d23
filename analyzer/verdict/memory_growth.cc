#include "analyzer/verdict/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "analyzer/median.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxPairs = 200;  // readings compared pairwise

// Of five readings on a straight line, one step takes up half of the growth.
constexpr double kMostOfGrowth = 0.6;

struct Reading {
  double at = 0;  // the number of its step, and how far into it: 7.5 is the middle of step 7
  double value = 0;

  [[nodiscard]] double step() const { return std::floor(at); }
};

double number_at(const std::vector<Step>& steps, SessionTime time) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](SessionTime t, const Step& step) { return t < step.start; });
  const Step& step = after == steps.begin() ? steps.front() : *std::prev(after);
  const double into = static_cast<double>(to_ns(time - step.start)) /
                      static_cast<double>(std::max<std::int64_t>(to_ns(step.dur), 1));
  return static_cast<double>(step.number) + std::clamp(into, 0.0, 1.0);
}

std::vector<Reading> readings_in(const CounterSeries& memory, const std::vector<Step>& steps) {
  std::vector<Reading> readings;
  for (const auto& reading : memory.within({steps.front().start, steps.back().end()}))
    readings.push_back({number_at(steps, reading.at), reading.value});
  return readings;
}

std::size_t steps_with_readings(const std::vector<Reading>& readings) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < readings.size(); ++i)
    count += i == 0 || readings[i].step() != readings[i - 1].step() ? 1U : 0U;
  return count;
}

// If memory after one step is never again as low as before it, and this makes up most of the
// growth, drops the readings in that step and lowers the later ones by the difference.
void take_out_rise_of_one_step(std::vector<Reading>& readings) {
  std::vector<double> lowest_from(readings.size() + 1, INFINITY);
  double highest = -INFINITY;
  for (std::size_t i = readings.size(); i-- > 0;) {
    lowest_from[i] = std::min(readings[i].value, lowest_from[i + 1]);
    highest = std::max(highest, readings[i].value);
  }
  std::size_t from = 0, to = 0;  // the step with the largest rise
  double rise = 0, highest_before = -INFINITY;
  for (std::size_t i = 0, next = 0; i < readings.size(); i = next) {
    next = i + 1;
    while (next < readings.size() && readings[next].step() == readings[i].step()) ++next;
    if (i > 0 && next < readings.size() && lowest_from[next] - highest_before > rise) {
      rise = lowest_from[next] - highest_before;
      from = i;
      to = next;
    }
    for (std::size_t k = i; k < next; ++k)
      highest_before = std::max(highest_before, readings[k].value);
  }
  if (rise <= kMostOfGrowth * (highest - lowest_from[0])) return;
  for (std::size_t i = to; i < readings.size(); ++i) readings[i].value -= rise;
  readings.erase(readings.begin() + static_cast<std::ptrdiff_t>(from),
                 readings.begin() + static_cast<std::ptrdiff_t>(to));
}

}  // namespace

double growth_per_step(const CounterSeries& memory, const std::vector<Step>& steps) {
  if (steps.empty()) return 0;
  std::vector<Reading> readings = readings_in(memory, steps);
  if (steps_with_readings(readings) < kMinReadings) return 0;
  take_out_rise_of_one_step(readings);
  const std::size_t stride = (readings.size() + kMaxPairs - 1) / kMaxPairs;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < readings.size(); i += stride) {
    for (std::size_t j = 0; j < i; j += stride) {
      const double moved = readings[i].at - readings[j].at;
      if (moved >= 1) slopes.push_back((readings[i].value - readings[j].value) / moved);
    }
  }
  if (slopes.empty()) return 0;
  return upper_median(std::move(slopes));
}

}  // namespace stepscope

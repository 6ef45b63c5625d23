#include "analyzer/steps/warm_up.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyzer/median.h"

namespace stepscope {

std::size_t warm_up_steps(std::span<const Duration> step_times, std::span<const double> work) {
  const std::size_t count = step_times.size();
  if (count < 2) return count;

  std::vector<double> settled;
  for (const Duration time : step_times.subspan(count / 2)) {
    settled.push_back(static_cast<double>(time.count()));
  }
  const double center = upper_median(settled);
  for (double& value : settled) value = std::abs(value - center);
  const double spread = 1.4826 * upper_median(settled);
  const double limit = std::max(center * kWarmUpFactor, center + kWarmUpSpreads * spread);

  const std::size_t most = std::max<std::size_t>(1, count / kWarmUpShare);
  const auto is_slow = [&](std::size_t step) {
    const double allowed = work.empty() ? 1 : std::max(1.0, work[step]);
    return static_cast<double>(step_times[step].count()) > limit * allowed;
  };
  std::size_t warm_up = 1;
  while (warm_up < most && is_slow(warm_up)) ++warm_up;
  return warm_up;
}

std::size_t run_ahead_steps(std::span<const TimeRange> steps,
                            std::span<const std::optional<SessionTime>> device_ends) {
  constexpr double kNearly = 0.9;      // of the longest lag
  constexpr double kFull = 0.98;       // of the usual lag from there on
  constexpr double kStillFull = 0.7;   // of it, the least that a later step may have
  constexpr double kGrowing = 0.25;    // of the time
  constexpr double kFarBehind = 3;     // steps; fewer are the usual overlap of host and device
  constexpr std::size_t kTenths = 10;  // one in so many steps may differ

  const auto unknown =
      static_cast<std::size_t>(std::ranges::count(device_ends, std::optional<SessionTime>()));
  if (steps.empty() || unknown * kTenths > steps.size()) return 0;  // the window has few steps
  std::vector<double> lags;  // from the end of each step to that of its work on the device
  SessionTime device_end = steps.front().end;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    device_end = device_ends[i].value_or(device_end);
    lags.push_back(static_cast<double>(to_ns(device_end - steps[i].end)));
  }

  const double longest = std::ranges::max(lags);
  if (longest <= 0) return 0;  // each step ends after its work
  const auto first_from = [&lags](double least) {
    return std::ranges::find_if(lags, [least](double lag) { return lag >= least; });
  };
  const double full = upper_median(std::vector<double>(first_from(kNearly * longest), lags.end()));
  const auto reached = first_from(kFull * full);
  const auto ahead = static_cast<std::size_t>(reached - lags.begin());
  const std::span<const TimeRange> at_pace = steps.subspan(ahead);
  if (at_pace.size() < kFewestAtPace) return 0;
  const auto took = static_cast<double>(to_ns(at_pace.back().end - at_pace.front().end));
  if (lags.back() - *reached > kGrowing * took) return 0;  // not full yet
  const auto emptied = static_cast<std::size_t>(
      std::count_if(reached, lags.end(), [full](double lag) { return lag < kStillFull * full; }));
  if (emptied * kTenths > at_pace.size()) return 0;
  std::vector<double> times;
  for (const TimeRange& step : at_pace)
    times.push_back(static_cast<double>(to_ns(step.end - step.start)));
  return full < kFarBehind * upper_median(times) ? 0 : ahead;
}

}  // namespace stepscope

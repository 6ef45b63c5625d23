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

}  // namespace stepscope

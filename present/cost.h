// The cost of a step and of a sample, given the hourly price of the machine. In the currency of
// that price.
#pragma once

#include <optional>

#include "analyzer/report.h"

namespace stepscope {

struct Price {
  double per_hour = 0;          // of all machines of the run; 0: not given
  double samples_per_step = 0;  // 0: as the marked lengths say, or unknown
};

struct Cost {
  double samples = 0;  // per step; 0: unknown
  double per_step = 0;
  std::optional<double> per_sample;
};

// The cost of the loop's mean analysed step. Nothing without a price.
inline std::optional<Cost> cost_of(const LoopReport& loop, const Price& price) {
  constexpr double kNsPerHour = 3600e9;
  if (price.per_hour <= 0) return std::nullopt;
  Cost cost;
  cost.samples = price.samples_per_step > 0 ? price.samples_per_step : loop.padding.batch_size();
  cost.per_step = price.per_hour * static_cast<double>(loop.wall.mean) / kNsPerHour;
  if (cost.samples > 0) cost.per_sample = cost.per_step / cost.samples;
  return cost;
}

}  // namespace stepscope

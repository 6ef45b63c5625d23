// What a step and a sample cost, where one says what an hour of the machine does. In whatever
// currency that is.
#pragma once

#include <optional>

#include "analyzer/report.h"

namespace stepscope {

struct Price {
  double per_hour = 0;          // of all machines of the run; 0: not said
  double samples_per_step = 0;  // 0: as marked (lengths), or not known
};

struct Cost {
  double samples = 0;  // a step; 0: not known
  double per_step = 0;
  std::optional<double> per_sample;
};

// Nothing where there is no price. Of the loop's mean analysed step.
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

// The mean.
#pragma once

#include <numeric>
#include <span>

namespace stepscope {

// 0 if there are no values.
inline double mean_of(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace stepscope

// The median, for uses where either of two middle values will do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stepscope {

// The middle value, the upper one of two. `values` are not empty.
inline double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace stepscope

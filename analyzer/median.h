// The median; of an even number of values, one of the two in the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stepscope {

// The middle value, the upper one of two. `values` are not empty.
template <typename Number = double>
Number upper_median(std::vector<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The middle value, the lower one of two. `values` are not empty.
inline double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace stepscope

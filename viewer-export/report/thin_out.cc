#include "viewer-export/report/thin_out.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace stepscope {

std::vector<std::size_t> thin_out(std::span<const std::int64_t> values, std::size_t most) {
  std::vector<std::size_t> kept;
  if (values.size() <= most) {
    kept.resize(values.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    return kept;
  }
  const std::size_t stretches = most / 2;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = i * values.size() / stretches;
    const auto stretch = values.subspan(begin, (i + 1) * values.size() / stretches - begin);
    auto [low, high] = std::minmax_element(stretch.begin(), stretch.end());
    if (low > high) std::swap(low, high);
    kept.push_back(begin + static_cast<std::size_t>(std::distance(stretch.begin(), low)));
    if (low != high)
      kept.push_back(begin + static_cast<std::size_t>(std::distance(stretch.begin(), high)));
  }
  return kept;
}

}  // namespace stepscope

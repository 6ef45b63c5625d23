#include "samples/cpp/encoder/batches.h"

#include <algorithm>
#include <numeric>

namespace encoder {

std::vector<Group> plan_batches(const std::vector<std::size_t>& lengths, Mode mode,
                                std::size_t batch, bool sorted) {
  Group order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Longest first: all later batches can then reuse the memory of the first.
  if (sorted) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  }
  const std::size_t size = mode == Mode::kSingle ? 1
                           : mode == Mode::kFull ? std::max<std::size_t>(order.size(), 1)
                                                 : batch;
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin < order.size(); begin += size) {
    const std::size_t end = std::min(begin + size, order.size());
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                        order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return groups;
}

}  // namespace encoder

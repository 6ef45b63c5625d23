#include "analyzer/attribute/kernel_table.h"

#include <algorithm>
#include <iterator>

namespace stepscope {

void KernelTable::add(StringId name, PhaseKind phase, Duration dur) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= by_name_.size()) by_name_.resize(std::max(index + 1, by_name_.size() * 2));
  KernelCost& cost = by_name_[index][static_cast<std::size_t>(phase)];
  cost.name = name;
  cost.phase = phase;
  ++cost.calls;
  cost.total += dur;
}

std::vector<KernelCost> KernelTable::sorted() const {
  std::vector<KernelCost> result;
  for (const auto& phases : by_name_) {
    std::copy_if(phases.begin(), phases.end(), std::back_inserter(result),
                 [](const KernelCost& cost) { return cost.calls > 0; });
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const KernelCost& a, const KernelCost& b) { return a.total > b.total; });
  return result;
}

}  // namespace stepscope

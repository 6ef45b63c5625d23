#include "analyzer/attribute/kernel_table.h"

#include <algorithm>
#include <utility>

namespace stepscope {

void KernelTable::add(StringId name, PhaseKind phase, Duration dur) {
  KernelCost& cost = rows_.at(name, phase);
  ++cost.calls;
  cost.total += dur;
}

std::vector<KernelCost> KernelTable::sorted() const {
  std::vector<KernelCost> result = rows_.rows();
  std::sort(result.begin(), result.end(), [](const KernelCost& a, const KernelCost& b) {
    if (a.total != b.total) return a.total > b.total;
    return std::pair(a.name, a.phase) < std::pair(b.name, b.phase);
  });
  return result;
}

}  // namespace stepscope

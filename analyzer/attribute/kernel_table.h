// Which kernels the time of a device went to.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "store/events.h"

namespace stepscope {

// What the kernels of one name took that were launched in one phase.
struct KernelCost {
  StringId name = StringId::kNone;
  PhaseKind phase = PhaseKind::kNone;
  std::int64_t calls = 0;
  Duration total{0};  // kernels of several streams may overlap
};

// Bounded by the number of different names, not by the number of kernels.
class KernelTable {
 public:
  void add(StringId name, PhaseKind phase, Duration dur);
  // By total time, the largest first.
  [[nodiscard]] std::vector<KernelCost> sorted() const;

 private:
  std::vector<std::array<KernelCost, kPhaseKindCount>> by_name_;  // index: the StringId
};

}  // namespace stepscope

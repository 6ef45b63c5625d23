// The kernels on which a device spent its time.
#pragma once

#include <cstdint>
#include <vector>

#include "store/events.h"
#include "store/table_names.h"

namespace stepscope {

// The time of the kernels of one name launched in one phase.
struct KernelCost {
  StringId name = StringId::kNone;
  PhaseKind phase = PhaseKind::kNone;
  std::int64_t calls = 0;
  Duration total{0};  // kernels of several streams may overlap
};

// A row for each name and phase: bounded where the names are those of a TableNames.
class KernelTable {
 public:
  void add(StringId name, PhaseKind phase, Duration dur);
  // By total time, the largest first.
  [[nodiscard]] std::vector<KernelCost> sorted() const;

 private:
  RowsByName<KernelCost> rows_;
};

}  // namespace stepscope

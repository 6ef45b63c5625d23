// The memory of a process's tensors by the phase that allocated it (MemoryOwner).
#pragma once

#include <array>

#include "store/events.h"

namespace stepscope {

// The memory that the tensors of a process held at one moment, in bytes.
struct HeldTensors {
  double bytes = 0;
  SessionTime at{};
  std::array<double, kMemoryOwnerCount> by{};  // in the order of MemoryOwner; their sum is `bytes`
};

// At the highest reading and at the last one.
struct HeldTensorsUse {
  HeldTensors peak;
  HeldTensors last;
};

}  // namespace stepscope

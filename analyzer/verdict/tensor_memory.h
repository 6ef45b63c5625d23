// The memory of a process's tensors by the phase that allocated it (MemoryOwner).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/counters/counters.h"

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

// On the CPU, of blocks of 16 KiB and more. Nothing where it was not sampled by phase, or nothing
// was held. Peaks between two readings, a tenth of a second apart, are missed.
std::optional<HeldTensorsUse> measure_tensor_memory(const Counters& counters, ProcessId process);

// "forward", "other", …: the names of MemoryOwner in documents.
const char* owner_name(MemoryOwner owner);

// "forward 1.20 GB, other 300 MB": the largest first; parts below a twentieth are left out.
std::string owners_text(const HeldTensors& memory);

}  // namespace stepscope

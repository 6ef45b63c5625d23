// The memory of a process's tensors by the phase that allocated it (MemoryOwner).
#pragma once

#include <optional>

#include "analyzer/counters/counters.h"
#include "analyzer/facts/held_tensors.h"

namespace stepscope {

// Tensor memory on the CPU, in blocks of 16 KiB and more. Nothing if it was not sampled by phase,
// or if none was held. Peaks between two readings, which are a tenth of a second apart, are missed.
std::optional<HeldTensorsUse> measure_tensor_memory(const Counters& counters, ProcessId process);

// "forward", "other", …: the names of MemoryOwner in documents.
const char* owner_name(MemoryOwner owner);

}  // namespace stepscope

// What a recorded process says of its tensors' memory, as samples: in all, and by what made it
// (MemoryOwner). What never made anything has no samples, so that most runs have two or three of
// the five; one that has come stays, also at 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/ring/region_format.h"

namespace stepscope {

// Thread safety: none. Nonsense that a program gone wild has written is left out.
class MemorySampler {
 public:
  // Nothing for a process without tensors.
  std::vector<Reading> of_tensors(const ProcessDrain::Memory& memory);
  // Of its device `number`; nothing where its allocator has not said anything.
  std::vector<Reading> of_device(const DeviceMemory& memory, std::size_t number);

 private:
  using Held = std::array<std::int64_t, kMemoryOwnerCount>;
  using Seen = std::array<bool, kMemoryOwnerCount>;

  Seen seen_{};
  std::array<Seen, kMostDevices> seen_on_{};
};

}  // namespace stepscope

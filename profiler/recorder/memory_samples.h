// The tensor memory of a recorded process as counter readings: in total, and by owner
// (MemoryOwner). An owner that has never allocated has no readings, so most runs have two or three
// of the five counters. Once an owner has a reading, it keeps having them, even at 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/ring/region_format.h"

namespace stepscope {

// Thread safety: none. Implausible values from a corrupted program are dropped.
class MemorySampler {
 public:
  // Returns nothing for a process without tensors.
  std::vector<Reading> of_tensors(const ProcessDrain::Memory& memory);
  // The readings of device `number`; nothing if its allocator has reported nothing.
  std::vector<Reading> of_device(const DeviceMemory& memory, std::size_t number);

 private:
  using Held = std::array<std::int64_t, kMemoryOwnerCount>;
  using Seen = std::array<bool, kMemoryOwnerCount>;

  Seen seen_{};
  std::array<Seen, kMaxDevices> seen_on_{};
};

}  // namespace stepscope

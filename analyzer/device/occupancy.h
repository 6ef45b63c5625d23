// Theoretical occupancy: how many warps of a kernel a multiprocessor can hold at once, relative to
// its maximum.
//
// The rules are those of NVIDIA's occupancy calculator (cuda_occupancy.h of the CUDA toolkit), with
// the carve-out of shared memory at its largest and partitioned global caching off, as it is by
// default. The limits are from the CUDA C++ Programming Guide 13.0, "Compute Capabilities", table
// "Technical Specifications per Compute Capability". docs/schema.md describes both.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "store/device_events.h"

namespace stepscope {

// The resources of a multiprocessor.
struct MultiprocessorLimits {
  std::int64_t warps = 0;  // resident at once
  std::int64_t blocks = 0;
  std::int64_t registers = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t partitions = 4;             // each has its part of the registers
  std::int64_t shared_granularity = 0;     // bytes; a block gets a multiple of it
  std::int64_t reserved_shared_bytes = 0;  // of each block, for the system
};

// By the device's compute capability; what the device itself reports takes precedence. Nothing for
// an unknown one.
std::optional<MultiprocessorLimits> limits_of(const Device& device);

// What a block needs.
struct BlockNeeds {
  std::int64_t threads = 0;
  std::int64_t registers = 0;     // per thread
  std::int64_t shared_bytes = 0;  // static and dynamic

  friend auto operator<=>(const BlockNeeds&, const BlockNeeds&) = default;
};

enum class OccupancyLimit : std::uint8_t { kWarps, kBlocks, kRegisters, kSharedMemory };
const char* limit_name(OccupancyLimit limit);  // "warps", "blocks", "registers", "shared memory"

struct TheoreticalOccupancy {
  std::int64_t blocks = 0;  // per multiprocessor at once
  std::int64_t warps = 0;
  double share = 0;  // warps divided by the maximum
  // The limiting resource; of several, the first in the order above.
  OccupancyLimit limited_by = OccupancyLimit::kWarps;
};

// Nothing if not even one block fits: such a kernel cannot have run.
std::optional<TheoreticalOccupancy> theoretical_occupancy(const MultiprocessorLimits& limits,
                                                          const BlockNeeds& block);

}  // namespace stepscope

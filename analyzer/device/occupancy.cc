#include "analyzer/device/occupancy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace stepscope {
namespace {

constexpr std::int64_t kWarpThreads = 32;
constexpr std::int64_t kWarpRegisterGranularity = 256;  // a warp gets a multiple of it
constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Capability {
  int major = 0, minor = 0;
  std::int64_t warps = 0, blocks = 0, shared_kib = 0;
};

// All of them have 65,536 registers.
constexpr std::array kCapabilities = {
    Capability{5, 0, 64, 32, 64},   Capability{5, 2, 64, 32, 96},   Capability{5, 3, 64, 32, 64},
    Capability{6, 0, 64, 32, 64},   Capability{6, 1, 64, 32, 96},   Capability{6, 2, 64, 32, 64},
    Capability{7, 0, 64, 32, 96},   Capability{7, 2, 64, 32, 96},   Capability{7, 5, 32, 16, 64},
    Capability{8, 0, 64, 32, 164},  Capability{8, 6, 48, 16, 100},  Capability{8, 7, 48, 16, 164},
    Capability{8, 9, 48, 24, 100},  Capability{9, 0, 64, 32, 228},  Capability{10, 0, 64, 32, 228},
    Capability{10, 3, 64, 32, 228}, Capability{11, 0, 48, 24, 228}, Capability{12, 0, 48, 24, 100},
    Capability{12, 1, 48, 24, 100}};
constexpr std::int64_t kRegisters = 65'536;

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Each partition allocates its own registers: those left over in one are of no use to a warp in
// another.
std::int64_t blocks_by_registers(const MultiprocessorLimits& limits, const BlockNeeds& block,
                                 std::int64_t warps) {
  const std::int64_t of_warp = round_up(block.registers * kWarpThreads, kWarpRegisterGranularity);
  if (of_warp == 0) return kNoLimit;
  // The launch itself is checked as if a block took the same number of warps in each partition.
  if (of_warp * round_up(warps, limits.partitions) > limits.registers) return 0;
  return limits.registers / limits.partitions / of_warp * limits.partitions / warps;
}

std::int64_t blocks_by_shared_memory(const MultiprocessorLimits& limits, const BlockNeeds& block) {
  const std::int64_t of_block =
      round_up(block.shared_bytes + limits.reserved_shared_bytes, limits.shared_granularity);
  return of_block == 0 ? kNoLimit : limits.shared_bytes / of_block;
}

}  // namespace

std::optional<MultiprocessorLimits> limits_of(const Device& device) {
  const auto known =
      std::find_if(kCapabilities.begin(), kCapabilities.end(), [&](const Capability& capability) {
        return capability.major == device.compute_major && capability.minor == device.compute_minor;
      });
  if (known == kCapabilities.end()) return std::nullopt;
  const auto or_known = [](std::int64_t said, std::int64_t otherwise) {
    return said > 0 ? said : otherwise;
  };
  const bool since_ampere = known->major >= 8;
  MultiprocessorLimits limits;
  limits.warps = or_known(device.max_threads_per_multiprocessor / kWarpThreads, known->warps);
  limits.blocks = known->blocks;
  limits.registers = or_known(device.registers_per_multiprocessor, kRegisters);
  limits.shared_bytes = or_known(device.shared_bytes_per_multiprocessor, known->shared_kib * kKib);
  limits.partitions = known->major == 6 && known->minor == 0 ? 2 : 4;
  limits.shared_granularity = since_ampere ? 128 : 256;
  limits.reserved_shared_bytes = since_ampere ? kKib : 0;
  return limits;
}

const char* limit_name(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kWarps:
      return "warps";
    case OccupancyLimit::kBlocks:
      return "blocks";
    case OccupancyLimit::kRegisters:
      return "registers";
    case OccupancyLimit::kSharedMemory:
      break;
  }
  return "shared memory";
}

std::optional<TheoreticalOccupancy> theoretical_occupancy(const MultiprocessorLimits& limits,
                                                          const BlockNeeds& block) {
  if (block.threads <= 0 || block.registers < 0 || block.shared_bytes < 0) return std::nullopt;
  const std::int64_t warps = round_up(block.threads, kWarpThreads) / kWarpThreads;
  const std::pair<OccupancyLimit, std::int64_t> allowed[] = {
      {OccupancyLimit::kWarps, limits.warps / warps},
      {OccupancyLimit::kBlocks, limits.blocks},
      {OccupancyLimit::kRegisters, blocks_by_registers(limits, block, warps)},
      {OccupancyLimit::kSharedMemory, blocks_by_shared_memory(limits, block)}};
  const auto& [limit, blocks] =
      *std::min_element(std::begin(allowed), std::end(allowed),
                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (blocks <= 0) return std::nullopt;
  const auto share = static_cast<double>(blocks * warps) / static_cast<double>(limits.warps);
  return TheoreticalOccupancy{blocks, blocks * warps, share, limit};
}

}  // namespace stepscope

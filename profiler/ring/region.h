// Makes, maps and walks a region (region_format.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/ring/region_format.h"
#include "profiler/ring/ring_format.h"

namespace stepscope {

// The dimensions of a region. The recorder keeps its own copy, because the program could have
// overwritten the one in the region.
struct RegionLayout {
  std::uint32_t slot_count = 0;
  std::uint32_t ring_capacity = 0;
  std::uint64_t rings_offset = 0;
  std::uint64_t ring_stride = 0;

  [[nodiscard]] std::uint64_t bytes() const { return rings_offset + ring_capacity * ring_stride; }
};

inline constexpr std::size_t kDefaultRingBytes = std::size_t{2} << 20;
inline constexpr std::uint32_t kMaxRings = 1024;

// Plans rings of about `ring_bytes` each (0: kDefaultRingBytes): at most kMaxRings of them, and
// fewer if they would take more than 4 GiB of address space.
RegionLayout lay_out_region(std::size_t ring_bytes);

// A region mapped in this process. Trivial: copied freely, unmapped explicitly.
struct Region {
  RegionHeader* header = nullptr;
  RegionLayout layout;  // ring_capacity counts only the mapped rings
  std::uint64_t mapped_bytes = 0;

  explicit operator bool() const { return header != nullptr; }
  [[nodiscard]] RingHeader* ring(std::uint32_t index) const {
    return reinterpret_cast<RingHeader*>(reinterpret_cast<char*>(header) + layout.rings_offset +
                                         index * layout.ring_stride);
  }
};

// Writes the header of a region into `memory`: layout.bytes() bytes of zeroed memory.
Region format_region(void* memory, const RegionLayout& layout, const RecordPlan& plan);

// Maps a region for this process alone. If address space is scarce (RLIMIT_AS, strict overcommit),
// it gets fewer rings. Returns an empty Region if not even a few fit.
Region map_private_region(const RegionLayout& layout, const RecordPlan& plan);

// Maps the region in `fd`, which the recorder made, with as many of its rings as fit in an eighth
// of RLIMIT_AS. Returns an empty Region if it cannot be mapped or has another version.
Region map_shared_region(int fd);

// The text in a store: "on" or "off"; nullptr for an unknown or invalid value.
const char* switch_text(TorchSwitch setting);

void unmap_region(const Region& region);

}  // namespace stepscope

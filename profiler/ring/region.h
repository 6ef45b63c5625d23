// Makes, maps and walks a region (region_format.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/ring/region_format.h"
#include "profiler/ring/ring_format.h"

namespace stepscope {

// The dimensions of a region. The recorder keeps its own copy and does not trust what the program
// could have overwritten.
struct RegionLayout {
  std::uint32_t slot_count = 0;
  std::uint32_t ring_capacity = 0;
  std::uint64_t rings_offset = 0;
  std::uint64_t ring_stride = 0;

  [[nodiscard]] std::uint64_t bytes() const { return rings_offset + ring_capacity * ring_stride; }
};

inline constexpr std::size_t kDefaultRingBytes = std::size_t{2} << 20;
inline constexpr std::uint32_t kMaxRings = 1024;

// Rings of about `ring_bytes` each (0: kDefaultRingBytes), at most kMaxRings of them, and fewer
// where they would take more than 4 GiB of addresses.
RegionLayout lay_out_region(std::size_t ring_bytes);

// A region mapped in this process. Trivial: copied freely, unmapped explicitly.
struct Region {
  RegionHeader* header = nullptr;
  RegionLayout layout;  // ring_capacity: as far as it is mapped
  std::uint64_t mapped_bytes = 0;

  explicit operator bool() const { return header != nullptr; }
  [[nodiscard]] RingHeader* ring(std::uint32_t index) const {
    return reinterpret_cast<RingHeader*>(reinterpret_cast<char*>(header) + layout.rings_offset +
                                         index * layout.ring_stride);
  }
};

// In zeroed memory of layout.bytes() bytes at `memory`, of which `mapped_bytes` are mapped here.
Region format_region(void* memory, const RegionLayout& layout, const RecordPlan& plan);

// A region of this process alone. Where addresses are scarce (RLIMIT_AS, strict overcommit) it gets
// fewer rings; nothing when not even a few fit.
Region map_private_region(const RegionLayout& layout, const RecordPlan& plan);

// The region in `fd`, which the recorder made. As many of its rings as an eighth of RLIMIT_AS
// holds. Nothing when it cannot be mapped or is of another version.
Region map_shared_region(int fd);

// As in a store: "on", "off"; nullptr: unknown, or an invalid value.
const char* switch_text(TorchSwitch setting);

void unmap_region(const Region& region);

}  // namespace stepscope

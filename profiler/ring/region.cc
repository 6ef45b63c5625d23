#include "profiler/ring/region.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>

#include "profiler/ring/ring.h"

namespace stepscope {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
constexpr std::uint32_t kFewestRings = 4;

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The bytes that may be mapped without using up the program's address space.
std::uint64_t address_allowance() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur / 8;
}

RegionLayout at_most(RegionLayout layout, std::uint64_t bytes) {
  if (layout.bytes() <= bytes) return layout;
  const std::uint64_t room = bytes > layout.rings_offset ? bytes - layout.rings_offset : 0;
  layout.ring_capacity = static_cast<std::uint32_t>(room / layout.ring_stride);
  return layout;
}

// Maps `layout`, or a smaller one with half the rings each time.
template <typename Map>
Region map_what_fits(RegionLayout layout, Map map) {
  layout = at_most(layout, address_allowance());
  for (; layout.ring_capacity >= kFewestRings; layout.ring_capacity /= 2) {
    void* memory = map(layout.bytes());
    if (memory == MAP_FAILED) continue;
    return {static_cast<RegionHeader*>(memory), layout, layout.bytes()};
  }
  return {};
}

bool layout_is_sane(const RegionHeader& header, std::uint64_t file_bytes) {
  const RegionLayout layout{header.slot_count, header.ring_capacity, header.rings_offset,
                            header.ring_stride};
  return header.magic == kRegionMagic && header.version == kRegionVersion &&
         header.ring_stride >= ring_bytes(header.slot_count) && layout.bytes() <= file_bytes;
}

}  // namespace

RegionLayout lay_out_region(std::size_t ring_bytes_wanted) {
  RegionLayout layout;
  layout.slot_count =
      slots_that_fit(ring_bytes_wanted == 0 ? kDefaultRingBytes : ring_bytes_wanted);
  layout.rings_offset = kDeviceAreaOffset + kDeviceAreaBytes;
  layout.ring_stride = round_up(ring_bytes(layout.slot_count));
  const std::uint64_t fit = std::max<std::uint64_t>(kMaxBytes / layout.ring_stride, kFewestRings);
  layout.ring_capacity = static_cast<std::uint32_t>(std::min<std::uint64_t>(fit, kMaxRings));
  return layout;
}

Region format_region(void* memory, const RegionLayout& layout, const RecordPlan& plan) {
  auto* header = new (memory) RegionHeader{};
  header->version = kRegionVersion;
  header->slot_count = layout.slot_count;
  header->ring_capacity = layout.ring_capacity;
  header->rings_offset = layout.rings_offset;
  header->ring_stride = layout.ring_stride;
  header->plan = plan;
  header->leaf_op_overhead_ns = -1;
  header->magic = kRegionMagic;
  return {header, layout, layout.bytes()};
}

Region map_private_region(const RegionLayout& layout, const RecordPlan& plan) {
  const Region region = map_what_fits(layout, [](std::uint64_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  });
  return region ? format_region(region.header, region.layout, plan) : region;
}

Region map_shared_region(int fd) {
  struct stat file{};
  if (fstat(fd, &file) != 0) return {};
  const auto file_bytes = static_cast<std::uint64_t>(file.st_size);
  if (file_bytes < sizeof(RegionHeader)) return {};
  const auto map = [fd](std::uint64_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  };
  void* head = map(sizeof(RegionHeader));
  if (head == MAP_FAILED) return {};
  auto& header = *static_cast<RegionHeader*>(head);
  Region region;
  if (layout_is_sane(header, file_bytes)) {
    region = map_what_fits(
        {header.slot_count, header.ring_capacity, header.rings_offset, header.ring_stride}, map);
    header.mapped_rings = region ? region.layout.ring_capacity : kNoRingsMapped;
  }
  munmap(head, sizeof(RegionHeader));
  return region;
}

const char* switch_text(TorchSwitch setting) {
  switch (setting) {
    case TorchSwitch::kOff:
      return "off";
    case TorchSwitch::kOn:
      return "on";
    case TorchSwitch::kUnknown:
      break;
  }
  return nullptr;
}

void unmap_region(const Region& region) {
  if (region) munmap(region.header, region.mapped_bytes);
}

}  // namespace stepscope

#include "profiler/recorder/memory_samples.h"

#include <algorithm>
#include <numeric>

#include "store/counters.h"

namespace stepscope {
namespace {

// A sum may be negative for a moment: one ring may already count a free whose allocation another
// ring does not count yet.
template <typename Held, typename Seen>
void add_by_owner(const Held& held, const char* const (&names)[kMemoryOwnerCount], Seen& seen,
                  std::vector<Reading>& readings) {
  for (std::size_t owner = 0; owner < held.size(); ++owner) {
    seen[owner] = seen[owner] || held[owner] > 0;
    if (seen[owner]) readings.emplace_back(names[owner], std::max<std::int64_t>(held[owner], 0));
  }
}

}  // namespace

std::vector<Reading> MemorySampler::of_tensors(const ProcessDrain::Memory& memory) {
  std::vector<Reading> readings;
  if (memory.allocations <= 0 || memory.allocated_bytes < 0) return readings;
  const std::int64_t sum =
      std::accumulate(memory.held_bytes.begin(), memory.held_bytes.end(), std::int64_t{0});
  readings.emplace_back(counter::kTensorBytes, std::max<std::int64_t>(sum, 0));
  readings.emplace_back(counter::kTensorAllocations, memory.allocations);
  readings.emplace_back(counter::kTensorAllocatedBytes, memory.allocated_bytes);
  add_by_owner(memory.held_bytes, counter::kTensorBytesBy, seen_, readings);
  return readings;
}

std::vector<Reading> MemorySampler::of_device(const DeviceMemory& memory, std::size_t number) {
  std::vector<Reading> readings;
  if (memory.reports.load(std::memory_order_acquire) == 0) return readings;
  readings.emplace_back(counter::kDeviceAllocatedBytes,
                        memory.allocated.load(std::memory_order_relaxed));
  readings.emplace_back(counter::kDeviceReservedBytes,
                        memory.reserved.load(std::memory_order_relaxed));
  Held held{};
  for (std::size_t owner = 0; owner < held.size(); ++owner)
    held[owner] = memory.held_bytes[owner].load(std::memory_order_relaxed);
  add_by_owner(held, counter::kDeviceBytesBy, seen_on_[number], readings);
  return readings;
}

}  // namespace stepscope

// The part of RingProducer that is not on the path of every event.
#include <algorithm>

#include "profiler/ring/prefault.h"
#include "profiler/ring/ring.h"

namespace stepscope {

bool RingProducer::make_room(std::uint64_t end) {
  const std::uint64_t tail = ring_->tail.load(std::memory_order_acquire);
  if (end - tail > mask_ + 1) return false;
  if (!allocate(std::min(end, mask_ + 1))) return false;
  limit_ = known_limit(tail);
  return true;
}

bool RingProducer::allocate(std::uint64_t slots) {
  const std::uint64_t ready = ring_->ready_slots.load(std::memory_order_relaxed);
  if (slots <= ready) return true;
  const auto slot_count = static_cast<std::uint32_t>(mask_ + 1);
  // Parts end on pages; the last one ends with the ring.
  const std::size_t begin = ring_bytes(static_cast<std::uint32_t>(ready));
  const std::size_t end = std::min(begin + kRingPartBytes, ring_bytes(slot_count));
  if (!prefault(reinterpret_cast<char*>(ring_) + begin, end - begin)) return false;
  ring_->ready_slots.store(slots_within(end, slot_count), std::memory_order_relaxed);
  return true;
}

}  // namespace stepscope

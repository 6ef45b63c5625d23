#include "profiler/ring/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stepscope {

const char* loss_name(LossKind kind) {
  switch (kind) {
    case LossKind::kOp:
      return "op";
    case LossKind::kPhase:
      return "phase";
    case LossKind::kName:
      return "name";
    case LossKind::kDepth:
      return "depth";
  }
  return "unknown";
}

std::size_t ring_bytes(std::uint32_t slot_count) {
  return sizeof(RingHeader) + std::size_t{slot_count} * sizeof(Slot);
}

std::uint32_t slots_that_fit(std::size_t bytes) {
  constexpr std::size_t kMax = std::size_t{1} << 26;  // 2 GiB per thread; more must be a mistake
  const std::size_t fit = std::min(bytes / sizeof(Slot), kMax);
  return static_cast<std::uint32_t>(
      std::max<std::size_t>(std::bit_floor(fit), 2 * kReservedForMarks));
}

std::uint32_t slots_within(std::size_t bytes, std::uint32_t slot_count) {
  if (bytes >= ring_bytes(slot_count)) return slot_count;
  return static_cast<std::uint32_t>((bytes - sizeof(RingHeader)) / sizeof(Slot));
}

namespace {

void name_owner(RingHeader* ring, std::int32_t tid, std::string_view thread_name) {
  ring->tid = tid;
  std::memset(ring->thread_name, 0, sizeof(ring->thread_name));
  const std::size_t length = std::min(thread_name.size(), sizeof(ring->thread_name) - 1);
  std::memcpy(ring->thread_name, thread_name.data(), length);
}

}  // namespace

RingHeader* format_ring(void* memory, std::uint32_t slot_count, std::int32_t pid, std::int32_t tid,
                        std::string_view thread_name, std::size_t ready_bytes) {
  auto* ring = new (memory) RingHeader{};
  ring->version = kRingVersion;
  ring->slot_count = slot_count;
  ring->ready_slots = slots_within(ready_bytes, slot_count);
  ring->pid = pid;
  name_owner(ring, tid, thread_name);
  ring->magic = kRingMagic;
  return ring;
}

void reopen_ring(RingHeader* ring, std::int32_t tid, std::string_view thread_name) {
  name_owner(ring, tid, thread_name);
  ring->torch_id.store(0, std::memory_order_relaxed);
  for (auto& lost : ring->lost) lost.store(0, std::memory_order_relaxed);
  ring->open_depth.store(0, std::memory_order_relaxed);
  ring->generation.fetch_add(1, std::memory_order_relaxed);
  ring->state.store(RingState::kOpen, std::memory_order_release);
}

}  // namespace stepscope

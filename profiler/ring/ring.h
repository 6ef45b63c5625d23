// A ring's memory and its two ends. One thread writes (RingProducer), one reads (RingConsumer).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/ring/ring_format.h"
#include "profiler/visibility.h"

namespace stepscope {

// Lays out a ring in zeroed `memory` of ring_bytes(slot_count) bytes, aligned to 64.
// `slot_count` must be a power of two of at least 2 * kReservedForMarks. `ready_bytes`: how much of
// the memory is allocated, page by page; the producer allocates the rest as it needs it.
RingHeader* format_ring(void* memory, std::uint32_t slot_count, std::int32_t pid, std::int32_t tid,
                        std::string_view thread_name, std::size_t ready_bytes = SIZE_MAX);
// The same for a thread that takes over a closed and drained ring: names, losses and open ops start
// anew; the slot counts continue.
void reopen_ring(RingHeader* ring, std::int32_t tid, std::string_view thread_name);
std::size_t ring_bytes(std::uint32_t slot_count);
// How many of its slots lie in the first `bytes` bytes of a ring.
std::uint32_t slots_within(std::size_t bytes, std::uint32_t slot_count);

// Memory for a ring that is not allocated as a whole comes in parts of this size: whole pages, more
// than kReservedForMarks slots and the longest event take. Allocating one takes some 10 µs.
inline constexpr std::size_t kRingPartBytes = std::size_t{32} << 10;

// The largest slot count whose ring fits in `bytes`, at least the minimum.
std::uint32_t slots_that_fit(std::size_t bytes);

inline Slot* ring_slots(RingHeader* ring) {
  return reinterpret_cast<Slot*>(reinterpret_cast<char*>(ring) + sizeof(RingHeader));
}

// Thread safety: only the thread that owns the ring may use it.
class RingProducer {
 public:
  explicit RingProducer(RingHeader* ring)
      : ring_(ring),
        slots_(ring_slots(ring)),
        mask_(ring->slot_count - 1),
        head_(ring->head.load(std::memory_order_relaxed)),
        limit_(known_limit(ring->tail.load(std::memory_order_relaxed))) {}

  // True if `count` more slots fit and `keep_free` stay free.
  [[nodiscard]] bool has_room(std::uint64_t count, std::uint64_t keep_free) {
    if (head_ + count + keep_free <= limit_) [[likely]]
      return true;
    return make_room(head_ + count + keep_free);
  }

  // After has_room(): the caller writes slots in place and publishes them together.
  [[nodiscard]] Slot& slot(std::uint64_t ahead) { return slots_[(head_ + ahead) & mask_]; }
  void publish(std::uint64_t count) {
    head_ += count;
    ring_->head.store(head_, std::memory_order_release);
    // The consumer has read the next slots; fetch their cache lines back before they are needed.
    __builtin_prefetch(&slots_[(head_ + 8) & mask_], 1);
  }

  void count_loss(LossKind kind) {
    auto& counter = ring_->lost[static_cast<int>(kind)];  // only this thread writes it
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] RingHeader& header() { return *ring_; }

 private:
  // Whether slots up to `end` may be written. Allocates memory if the ring has not been filled
  // once.
  STEPSCOPE_INTERNAL bool make_room(std::uint64_t end);
  bool allocate(std::uint64_t slots);
  // Up to where slots may be written if the consumer has released everything before `tail`.
  [[nodiscard]] std::uint64_t known_limit(std::uint64_t tail) const {
    const std::uint64_t ready = ring_->ready_slots.load(std::memory_order_relaxed);
    const std::uint64_t free = tail + mask_ + 1;
    return ready > mask_ ? free : std::min(free, ready);
  }

  RingHeader* ring_;
  Slot* slots_;
  std::uint64_t mask_;
  std::uint64_t head_;
  std::uint64_t limit_;  // as last seen: there may be more room, never less
};

// Thread safety: one thread at a time. Does not trust what it reads from the ring: the producer may
// be a corrupted program.
class RingConsumer {
 public:
  explicit RingConsumer(RingHeader* ring) : RingConsumer(ring, ring->slot_count) {}
  // For a ring whose header the reader does not trust: the reader supplies the slot count.
  RingConsumer(RingHeader* ring, std::uint32_t slot_count)
      : ring_(ring), slots_(ring_slots(ring)), slot_count_(slot_count) {}

  // The slots published and not yet released; at most one ring's worth, even if head is invalid.
  struct Batch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
  };
  [[nodiscard]] Batch published() const {
    const std::uint64_t tail = ring_->tail.load(std::memory_order_relaxed);
    const std::uint64_t head = ring_->head.load(std::memory_order_acquire);
    return head - tail <= slot_count_ ? Batch{tail, head} : Batch{tail, tail};
  }
  [[nodiscard]] const Slot& slot(std::uint64_t index) const {
    return slots_[index & (slot_count_ - 1)];
  }
  // Appends the slots of `batch` to `slots`.
  void copy(Batch batch, std::vector<Slot>& slots) const {
    const std::uint64_t begin = batch.begin & (slot_count_ - 1);
    const std::uint64_t first = std::min<std::uint64_t>(batch.size(), slot_count_ - begin);
    const std::size_t needed = slots.size() + batch.size();
    if (slots.capacity() < needed) slots.reserve(std::max(needed, 2 * slots.capacity()));
    slots.insert(slots.end(), slots_ + begin, slots_ + begin + first);
    slots.insert(slots.end(), slots_, slots_ + (batch.size() - first));
  }
  // From now on, the producer may overwrite everything before `end`.
  void release(std::uint64_t end) { ring_->tail.store(end, std::memory_order_release); }

  // Everything has been read: another thread may take the ring.
  void free() { ring_->state.store(RingState::kFree, std::memory_order_release); }

  [[nodiscard]] const RingHeader& header() const { return *ring_; }
  [[nodiscard]] std::uint32_t slot_count() const { return slot_count_; }

 private:
  RingHeader* ring_;
  const Slot* slots_;
  std::uint32_t slot_count_;
};

}  // namespace stepscope

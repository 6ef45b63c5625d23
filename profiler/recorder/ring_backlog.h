// The slots of one process that have left the rings and are not yet decoded. A thread can empty the
// rings into it in time (recorder/ring_collector.h) while the recorder is busy with the store.
//
// Thread safety: all members. Invariants: the slots of a ring are taken in the order in which they
// were written; the definition of a name is never cut in two. The program may write anything into
// its rings: slots are copied without interpreting their contents.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "profiler/ring/region.h"
#include "profiler/ring/ring.h"

namespace stepscope {

class RingBacklog {
 public:
  explicit RingBacklog(const Region& region) : region_(region) {}
  RingBacklog(const RingBacklog&) = delete;
  RingBacklog& operator=(const RingBacklog&) = delete;

  // Moves slots from the rings into memory until it holds `most_slots` in all; the rest stays in
  // the rings. Returns how many slots the fullest ring had. Throws std::bad_alloc; the remaining
  // slots are then still in the rings.
  std::uint64_t collect(std::uint64_t most_slots);

  // The threads whose rings had events at the last collect(), at most kMaxWriters.
  struct Writer {
    pid_t pid, tid;  // as the program says
  };
  [[nodiscard]] std::vector<Writer> writers();

  // Replaces `slots` by the next ones of ring `index`, including those still in the ring: at most
  // kMaxTaken, plus the rest of the last event; empty if there are none. Throws like collect().
  void take(std::uint32_t index, std::vector<Slot>& slots);
  // How many slots take() would return in all.
  [[nodiscard]] std::uint64_t size(std::uint32_t index);

  // Discards the slots of ring `index`.
  void discard(std::uint32_t index);
  // The region is about to be unmapped. Discards everything; from now on, all members do nothing.
  void close() noexcept;
  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_relaxed); }

  // Slots in memory, over all rings.
  [[nodiscard]] std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t slot_count() const { return slot_count_; }

  static constexpr std::size_t kMaxTaken = 1 << 16;
  static constexpr std::size_t kMaxWriters = 16;

 private:
  using Pieces = std::deque<std::vector<Slot>>;

  RingConsumer consumer(std::uint32_t index) const;
  bool in_use(std::uint32_t index) const;
  Pieces& pieces(std::uint32_t index);
  // Both require mutex_.
  void move_to(std::vector<Slot>& slots, RingConsumer& ring, RingConsumer::Batch batch);
  void change_held(std::int64_t slots);

  std::mutex mutex_;
  Region region_;                              // guarded by mutex_; none: closed
  std::deque<Pieces> rings_;                   // by index; guarded by mutex_
  std::vector<Slot> spare_;                    // memory for the next piece; guarded by mutex_
  std::array<Writer, kMaxWriters> writers_{};  // guarded by mutex_
  std::size_t writer_count_ = 0;               // guarded by mutex_
  std::atomic<std::uint64_t> held_{0};
  std::atomic<bool> closed_{false};
  const std::uint32_t slot_count_ = region_.layout.slot_count;
};

}  // namespace stepscope

// Tells whether the recorder of a wrapped program still polls its rings. The recorder counts its
// polls; if the count does not change for too long, the recorder is gone or stopped.
//
// Time is measured only in ticks of this process. Program and recorder may be in different time
// namespaces, and a library may fake the program's clock, but not the time stamp counter.
//
// Thread safety: all members. Concurrent calls may disagree only briefly.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/ring/clock.h"

namespace stepscope {

class HeartbeatWatch {
 public:
  // Call for a new recorder.
  void reset() { last_beat_.store(0, std::memory_order_release); }

  // `beat`: the recorder's current count; 0: it has stopped. The recorder counts as alive for
  // `patience` ticks after the last call that saw the count change.
  bool is_alive(std::uint64_t beat, Ticks now, std::uint64_t patience) {
    if (beat == 0) return false;
    if (beat != last_beat_.load(std::memory_order_acquire)) {
      changed_at_.store(to_count(now), std::memory_order_relaxed);
      last_beat_.store(beat, std::memory_order_release);
      return true;
    }
    // Signed: another thread may have seen the change after `now` was read.
    const auto silent =
        static_cast<std::int64_t>(to_count(now) - changed_at_.load(std::memory_order_relaxed));
    return silent < static_cast<std::int64_t>(patience);
  }

 private:
  std::atomic<std::uint64_t> last_beat_{0};
  std::atomic<std::uint64_t> changed_at_{0};  // ticks
};

}  // namespace stepscope

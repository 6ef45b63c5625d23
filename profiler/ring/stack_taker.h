// Decides when a thread of a C++ program takes its call stack.
//
// Events (an op that begins or ends, a mark) divide the time of a thread into stretches. Once per
// period, a moment is chosen and the stretch around it is sampled: the stack is taken at the first
// event after that moment, where the stretch ends. A stretch is chosen in proportion to its length,
// so the samples divide time as those of a sampler that can stop the program anywhere.
//
// A long stretch may end in another function than it began in. The stack at its beginning must be
// taken before it is known that the stretch will be long. But loops repeat themselves: this stack
// is taken at places where a long stretch has begun before, if the next chosen moment is near
// enough. The recorder remembers it for other stretches that begin there.
//
// Costs two comparisons per event, and on average at most two stacks per period. Thread safety:
// none; each thread has its own. Any thread may call set_period().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "profiler/ring/clock.h"
#include "profiler/ring/ring.h"
#include "profiler/ring/ring_format.h"
#include "profiler/visibility.h"
#include "store/events.h"

namespace stepscope {

class STEPSCOPE_INTERNAL StackTaker {
 public:
  // Takes effect from `since` on, in all threads. `period` is kStackPeriodNs in ticks; 0: no stacks
  // are taken. The chosen moments are `period / rate` apart; a thread that has begun keeps its
  // rate.
  static void set_period(std::uint32_t period, std::uint8_t rate, Ticks since);

  // For a new recording: nothing is sampled before the first mark.
  void restart();

  // An event of the thread's loop has come: the thread is sampled from now on.
  void follow(Ticks now) {
    if (due_ == kNever) [[unlikely]]
      begin(now);
  }

  // An event ends one stretch and begins the next. True if end_stretch() must be called; otherwise
  // pass() is enough.
  [[nodiscard]] STEPSCOPE_HOT_INLINE bool stretch_counts(Ticks now) const {
    return to_count(now) >= due_ || to_count(now) - last_ > long_;
  }
  // Learns from the stretch that ends `now` and, if it was chosen, writes its stack into `ring`.
  // `wanted`: it was in a phase whose stacks are wanted. Returns the time afterwards.
  Ticks end_stretch(Ticks now, bool wanted, RingProducer& ring);
  // `place`: the event's place in the program, as far as it is known.
  STEPSCOPE_HOT_INLINE void pass(Ticks now, std::uint32_t place) {
    last_ = to_count(now);
    place_ = place;
  }
  // Whether begin_stretch() may have something to do.
  [[nodiscard]] STEPSCOPE_HOT_INLINE bool may_be_chosen(Ticks now) const {
    return (long_places_ >> (place_ % 64) & 1) != 0 && to_count(now) >= wake_;
  }
  // After pass(): takes the stack at the beginning of the stretch, if the stretch may be a long
  // one.
  void begin_stretch();

  // A place for pass(): `what` is the event's kind or name, `count` its number since the last mark.
  static std::uint32_t place_of(std::uint32_t what, std::uint32_t count) {
    const std::uint32_t mixed = what * 0x9e3779b1U + count * 0x85ebca6bU + 1;
    return mixed ^ (mixed >> 15);
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint32_t kPlaces = 256;
  static constexpr std::uint32_t kWays = 8;  // a place may be kept at its index or the 7 after it
  static constexpr int kMaxBegins = 4;       // unused ones are saved up to this many

  struct Place {
    std::uint32_t place = 0;
    bool repeats = false;
    std::uint64_t ticks = 0;  // the length of most of its recent stretches
  };

  void begin(Ticks now);
  void learn(std::uint64_t ticks);
  // The entry of place_; without one, the entry with the shortest stretches that it may replace.
  Place& known_place();
  void fade_places();
  void take(Ticks now, RingProducer& ring) const;
  void choose_next(std::uint64_t now);
  void set_wake();

  // First what each event reads: one cache line.
  std::uint64_t due_ = kNever;     // the moment to be sampled next
  std::uint64_t wake_ = kNever;    // from here on a stretch may reach due_
  std::uint64_t long_ = kNever;    // ticks; longer stretches are learned
  std::uint64_t last_ = 0;         // ticks of the last event
  std::uint64_t long_places_ = 0;  // the bits of places that repeat, by number modulo 64
  std::uint32_t place_ = 0;        // of the last event
  std::uint32_t period_ = 0;
  std::uint8_t rate_ = 1;
  std::uint32_t random_ = 0x2545f491;
  int begins_left_ = 0;
  std::uint64_t longest_ = 0;
  std::uint32_t choices_ = 0;
  std::array<Place, kPlaces> places_{};
  std::uint64_t begin_at_ = 0;  // the event at which begin_ was taken
  std::uint32_t begin_frames_ = 0;
  std::array<std::uint64_t, kMaxStackFrames> begin_{};
};

}  // namespace stepscope

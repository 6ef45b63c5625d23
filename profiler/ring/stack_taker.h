// Decides when a thread of a C++ program takes its call stack.
//
// Events (an op that begins or ends, a mark) divide the time of a thread into stretches. Every
// period there is a moment whose stretch is sampled: at the first event after that moment the stack
// is taken, which is where the stretch ended. Long stretches are chosen as often as they are long,
// so samples divide time as those of a sampler would that can stop the program anywhere.
//
// A long stretch may end in another function than it began in. The stack at its beginning must be
// taken before anybody knows that the stretch will be long. Loops repeat themselves: it is taken
// where a long stretch began before, if the next moment is near enough. The recorder remembers it
// for other stretches that begin there.
//
// Costs two comparisons an event, and at most two stacks a period on average.
// Thread safety: none; the thread's own. set_period() is for any thread.
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
  // From `since` on, in all threads. `period` in ticks, of kStackPeriodNs; 0: no stacks are taken.
  // The moments are `period / rate` apart; a thread that has begun keeps its rate.
  static void set_period(std::uint32_t period, std::uint8_t rate, Ticks since);

  // A new recording: nothing is sampled before the first mark.
  void restart();

  // An event of the thread's loop has come: from now on it is sampled.
  void follow(Ticks now) {
    if (due_ == kNever) [[unlikely]]
      begin(now);
  }

  // An event ends the stretch before it, and begins one.
  // Whether end_stretch() has something to do; else pass() alone will do.
  [[nodiscard]] STEPSCOPE_HOT_INLINE bool stretch_counts(Ticks now) const {
    return to_count(now) >= due_ || to_count(now) - last_ > long_;
  }
  // Learns from the stretch that ends `now`, and takes its stack if it was chosen: into `ring`.
  // `wanted`: it was in a phase whose stacks are wanted. Returns when that was done.
  Ticks end_stretch(Ticks now, bool wanted, RingProducer& ring);
  // `place`: of the event in the program, as well as it is known.
  STEPSCOPE_HOT_INLINE void pass(Ticks now, std::uint32_t place) {
    last_ = to_count(now);
    place_ = place;
  }
  // Whether begin_stretch() may have something to do.
  [[nodiscard]] STEPSCOPE_HOT_INLINE bool may_be_chosen(Ticks now) const {
    return (long_places_ >> (place_ % 64) & 1) != 0 && to_count(now) >= wake_;
  }
  // After pass(): takes the stack where the stretch begins, if it may be a long one.
  void begin_stretch();

  // A place for pass(): the event number `count` since the last mark, of a kind or name.
  static std::uint32_t place_of(std::uint32_t what, std::uint32_t count) {
    const std::uint32_t mixed = what * 0x9e3779b1U + count * 0x85ebca6bU + 1;
    return mixed ^ (mixed >> 15);
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint32_t kPlaces = 256;
  static constexpr std::uint32_t kWays = 8;  // where a place may be kept: here and after
  static constexpr int kMostBegins = 4;      // saved up

  struct Place {
    std::uint32_t place = 0;
    bool repeats = false;
    std::uint64_t ticks = 0;  // that most of its stretches took, lately
  };

  void begin(Ticks now);
  void learn(std::uint64_t ticks);
  // Of place_; else the one of those that it may replace whose stretches are shortest.
  Place& known_place();
  void fade_places();
  void take(Ticks now, RingProducer& ring) const;
  void choose_next(std::uint64_t now);
  void set_wake();

  std::uint64_t due_ = kNever;   // the moment to be sampled next
  std::uint64_t wake_ = kNever;  // from here on a stretch may reach it
  std::uint64_t long_ = kNever;  // ticks of a stretch that is worth learning
  std::uint64_t last_ = 0;       // the last event
  std::uint32_t place_ = 0;      // where it was
  std::uint32_t period_ = 0;
  std::uint8_t rate_ = 1;
  std::uint32_t random_ = 0x2545f491;
  int begins_left_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t long_places_ = 0;  // a bit for those that repeat, of their numbers modulo 64
  std::uint32_t choices_ = 0;
  std::array<Place, kPlaces> places_{};
  std::uint64_t begin_at_ = 0;  // the event whose stack begin_ is
  std::uint32_t begin_frames_ = 0;
  std::array<std::uint64_t, kMostStackFrames> begin_{};
};

}  // namespace stepscope

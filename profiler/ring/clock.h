// The only place where processor ticks become SessionTime.
//
// Hooks read the processor's counter, which costs a few ns: the time stamp counter (TSC) of x86-64,
// the virtual count (CNTVCT_EL0) of arm64. The recorder converts ticks with a ClockMap, which it
// keeps aligned with CLOCK_MONOTONIC.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "profiler/visibility.h"
#include "store/time.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stepscope {

// A reading of the tick clock: a count with an unknown rate, valid on this machine since its boot.
enum class Ticks : std::uint64_t {};

constexpr std::uint64_t to_count(Ticks ticks) { return static_cast<std::uint64_t>(ticks); }

// Reads a POSIX clock in ns.
inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// True if the processor has a counter that runs at a constant rate in all power states, the same on
// all cores. If not, ticks are CLOCK_MONOTONIC nanoseconds. Constant for the life of the process.
bool has_constant_counter();
STEPSCOPE_INTERNAL extern const bool kTicksAreCounter;

// What ticks are: "tsc", "cntvct" or "monotonic".
STEPSCOPE_INTERNAL const char* tick_clock_name();

// The ticks in some 10 µs: within a factor of two, because hooks do not know the rate of a TSC.
STEPSCOPE_INTERNAL extern const std::uint64_t kTicksInTenUs;

// The recorder's CLOCK_MONOTONIC minus this process's. Not 0 if the two are in different time
// namespaces. Used only if ticks are CLOCK_MONOTONIC; a counter is the same for both.
STEPSCOPE_INTERNAL extern std::atomic<std::int64_t> monotonic_shift_ns;

inline Ticks read_ticks() {
#if defined(__x86_64__)
  if (kTicksAreCounter) [[likely]]
    return Ticks{__rdtsc()};
#elif defined(__aarch64__)
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return Ticks{count};
#endif
  return Ticks{static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC)) +
               static_cast<std::uint64_t>(monotonic_shift_ns.load(std::memory_order_relaxed))};
}

// Both clocks at the same moment.
struct ClockReading {
  Ticks ticks{};
  std::int64_t monotonic_ns = 0;
};

// Reads both clocks several times and returns the pair with the smallest uncertainty (some tens of
// ns).
STEPSCOPE_INTERNAL ClockReading read_clocks();

// A continuous, strictly increasing, piecewise linear map from ticks to SessionTime.
//
// Thread safety: none; only the recorder uses it.
// Invariants: recalibrate() changes the map only after the reading it is given, so a converted tick
// always converts to the same time, and the order of two ticks is never reversed.
class ClockMap {
 public:
  // `first` is session time 0. The two readings give the first rate; `second` must be later.
  ClockMap(ClockReading first, ClockReading second);

  // Changes the rate from `now` on, so that the map meets CLOCK_MONOTONIC again within about one
  // interval between calls. Ignores a reading that is not later than the last one.
  void recalibrate(ClockReading now);

  // Ticks before session time 0 (from an op that was open at the start) become negative times.
  [[nodiscard]] SessionTime to_session(Ticks ticks) const;

  // How many ticks pass in `ns` at the latest rate.
  [[nodiscard]] std::uint64_t ticks_in(std::int64_t ns) const;

  // session time 0 on CLOCK_MONOTONIC
  [[nodiscard]] std::int64_t monotonic_start_ns() const { return monotonic_start_ns_; }

 private:
  // From `ticks` on: session ns = ns + (t - ticks) * rate / 2^32.
  struct Segment {
    std::uint64_t ticks;
    std::int64_t ns;
    std::uint64_t rate;
    [[nodiscard]] std::int64_t at(std::uint64_t t) const;
  };

  std::int64_t monotonic_start_ns_;
  ClockReading last_;
  std::vector<Segment> segments_;  // by ticks; one per calibration, never empty
};

}  // namespace stepscope

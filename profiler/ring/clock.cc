#include "profiler/ring/clock.h"

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stepscope {
namespace {

__extension__ using Int128 = __int128;  // a day of ticks times a rate does not fit in 64 bits

constexpr double kRateOne = 4294967296.0;  // 2^32: rates are 32.32 fixed point ns per tick

// A correction changes the rate by no more than this. NTP has the same limit, 500 ppm.
constexpr double kMaxSlew = 500e-6;

std::uint64_t rate_between(ClockReading a, ClockReading b) {
  const double ticks = static_cast<double>(to_count(b.ticks) - to_count(a.ticks));
  const double ns = static_cast<double>(b.monotonic_ns - a.monotonic_ns);
  return static_cast<std::uint64_t>(std::max(1.0, std::round(ns / ticks * kRateOne)));
}

std::uint64_t ticks_in_ten_us() {
#if defined(__x86_64__)
  if (kTicksAreCounter) return 1 << 15;  // at 3.3 GHz
#elif defined(__aarch64__)
  std::uint64_t hz = 0;
  asm("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz / 100'000;
#endif
  return 10'000;  // ticks are nanoseconds
}

}  // namespace

bool has_constant_counter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // AMD64 Architecture Programmer's Manual, Vol. 3, CPUID Fn8000_0007: EDX bit 8 is TscInvariant;
  // Intel documents the same leaf.
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#elif defined(__aarch64__)
  // Arm Architecture Reference Manual, "The Generic Timer": the system counter has one rate, does
  // not stop in low-power states, and is one for all cores.
  return true;
#else
  return false;
#endif
}

const bool kTicksAreCounter = has_constant_counter();
const std::uint64_t kTicksInTenUs = ticks_in_ten_us();

const char* tick_clock_name() {
  if (!kTicksAreCounter) return "monotonic";
#if defined(__aarch64__)
  return "cntvct";
#else
  return "tsc";
#endif
}

std::atomic<std::int64_t> monotonic_shift_ns{0};

ClockReading read_clocks() {
  ClockReading best;
  std::uint64_t best_gap = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = to_count(read_ticks());
    const std::int64_t ns = read_clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t after = to_count(read_ticks());
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {Ticks{before + (after - before) / 2}, ns};
    }
  }
  return best;
}

std::int64_t ClockMap::Segment::at(std::uint64_t t) const {
  const auto delta = static_cast<Int128>(static_cast<std::int64_t>(t - ticks));
  // Ticks from a corrupt ring may have any value; 73 years either way are enough.
  constexpr Int128 kMax = Int128{1} << 61;
  const Int128 time = Int128{ns} + ((delta * static_cast<Int128>(rate)) >> 32);
  return static_cast<std::int64_t>(std::clamp(time, -kMax, kMax));
}

ClockMap::ClockMap(ClockReading first, ClockReading second)
    : monotonic_start_ns_(first.monotonic_ns), last_(second) {
  segments_.push_back({to_count(first.ticks), 0, rate_between(first, second)});
}

void ClockMap::recalibrate(ClockReading now) {
  if (to_count(now.ticks) <= to_count(last_.ticks) || now.monotonic_ns <= last_.monotonic_ns)
    return;
  const std::int64_t here = segments_.back().at(to_count(now.ticks));
  const double behind = static_cast<double>(now.monotonic_ns - monotonic_start_ns_ - here);
  const double interval = static_cast<double>(now.monotonic_ns - last_.monotonic_ns);
  const double slew = std::clamp(behind / interval, -kMaxSlew, kMaxSlew);
  const double rate = static_cast<double>(rate_between(last_, now)) * (1.0 + slew);
  segments_.push_back({to_count(now.ticks), here, static_cast<std::uint64_t>(std::max(1.0, rate))});
  last_ = now;
}

SessionTime ClockMap::to_session(Ticks ticks) const {
  const std::uint64_t t = to_count(ticks);
  auto segment = segments_.end() - 1;
  if (t < segment->ticks) {  // rare: most events are later than the last calibration
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), t,
                         [](std::uint64_t v, const Segment& s) { return v < s.ticks; });
    segment = after == segments_.begin() ? after : after - 1;
  }
  return session_time(segment->at(t));
}

std::uint64_t ClockMap::ticks_in(std::int64_t ns) const {
  const double rate = static_cast<double>(segments_.back().rate) / kRateOne;
  return static_cast<std::uint64_t>(static_cast<double>(ns) / rate);
}

}  // namespace stepscope

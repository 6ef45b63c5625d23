// The clock of everything that is stored: integer nanoseconds since the start of the session.
//
// SessionTime is a type of its own, so that a reading of another clock (the TSC, CLOCK_MONOTONIC, a
// trace file's microseconds) does not compile where a SessionTime is expected. Ticks become
// SessionTime in one place, profiler/ring/clock.h; importers convert at their own boundary.
#pragma once

#include <chrono>
#include <cstdint>

namespace stepscope {

using Duration = std::chrono::duration<std::int64_t, std::nano>;

// A tag for std::chrono::time_point; it has no now(): only a recording knows its session's start.
struct SessionClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<SessionClock, Duration>;
  static constexpr bool is_steady = true;
};

using SessionTime = SessionClock::time_point;

constexpr SessionTime session_time(std::int64_t ns) { return SessionTime(Duration(ns)); }
constexpr std::int64_t to_ns(SessionTime time) { return time.time_since_epoch().count(); }
constexpr std::int64_t to_ns(Duration duration) { return duration.count(); }

// Half open: [start, end).
struct TimeRange {
  SessionTime start;
  SessionTime end;

  [[nodiscard]] constexpr Duration length() const { return end - start; }
  [[nodiscard]] constexpr bool contains(SessionTime t) const { return start <= t && t < end; }
  friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

}  // namespace stepscope

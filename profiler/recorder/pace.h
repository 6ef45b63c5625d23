// How often a recorder looks at the rings, reads the counters and commits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stepscope {

// At a million ops a second a default ring fills in 65 ms; a busy drain comes back within a few.
inline constexpr std::chrono::milliseconds kDrainPeriod{10};
inline constexpr std::chrono::milliseconds kBusyDrainPeriod{1};

// How long the collector of the rings sleeps after a visit that found the fullest ring `full`, from
// 0 to 1. It had meant to come after `planned` and came after `took`. At the same rate and as late
// again, it finds a quarter of a ring.
inline std::chrono::nanoseconds collect_period(double full, std::chrono::nanoseconds took,
                                               std::chrono::nanoseconds planned) {
  constexpr double kAimedAt = 0.25;
  const std::chrono::nanoseconds longest = kDrainPeriod;
  const std::chrono::nanoseconds shortest = kBusyDrainPeriod;
  if (full <= 0) return longest;
  const std::chrono::duration<double, std::nano> late = took - std::min(took, planned);
  const std::chrono::duration<double, std::nano> wanted = took * (kAimedAt / full) - late;
  if (wanted >= longest) return longest;
  return std::max(shortest, std::chrono::duration_cast<std::chrono::nanoseconds>(wanted));
}

// What the collector may hold while the recorder writes: four million ops.
inline constexpr std::size_t kMostCollectedBytes = std::size_t{128} << 20;

inline constexpr std::int64_t kSamplePeriodNs = 100'000'000;

// How old the store is at most to somebody who reads it meanwhile. Four commits a second are cheap,
// and large transactions are what makes SQLite fast.
inline constexpr std::int64_t kFlushPeriodNs = 250'000'000;

}  // namespace stepscope

// How often a recorder looks at the rings, reads the counters and commits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stepscope {

// At a million ops a second, a ring of the default size fills in 65 ms; a busy recorder drains it
// again within a few ms.
inline constexpr std::chrono::milliseconds kDrainPeriod{10};
inline constexpr std::chrono::milliseconds kBusyDrainPeriod{1};

// Each wake-up costs a program that computes on the same core, or on the other half of it, more
// than the work that is done: in a virtual machine some 50 µs. So where the rings hold little, as
// without ops, they are visited less often. A flood of ops that begins meanwhile fills a third of a
// ring.
inline constexpr std::chrono::milliseconds kIdleDrainPeriod{20};
inline constexpr double kIdleFullness = 0.01;
// A recorder whose rings are emptied by a collector has only to keep its store up to date. What
// happens to a process wakes it at once.
inline constexpr std::chrono::milliseconds kLookPeriod{50};

// How long a recorder sleeps after a look. `busy`: it found much. `collected`: a collector empties
// the rings.
inline std::chrono::milliseconds look_period(bool busy, bool collected) {
  if (busy) return kBusyDrainPeriod;
  return collected ? kLookPeriod : kDrainPeriod;
}

// How often a thread that wakes up often looks for a CPU that no recorded thread computes on.
inline constexpr std::chrono::milliseconds kCpuChoicePeriod{100};

// How long the ring collector sleeps after a visit. `full`, from 0 to 1: how full the fullest ring
// was. The visit was planned `planned` after the one before and came after `took`. If events keep
// their rate and the next visit is as late, it finds a quarter of a ring.
inline std::chrono::nanoseconds collect_period(double full, std::chrono::nanoseconds took,
                                               std::chrono::nanoseconds planned) {
  constexpr double kAimedAt = 0.25;
  const std::chrono::nanoseconds longest = full < kIdleFullness ? kIdleDrainPeriod : kDrainPeriod;
  const std::chrono::nanoseconds shortest = kBusyDrainPeriod;
  if (full <= 0) return longest;
  const std::chrono::duration<double, std::nano> late = took - std::min(took, planned);
  const std::chrono::duration<double, std::nano> wanted = took * (kAimedAt / full) - late;
  if (wanted >= longest) return longest;
  return std::max(shortest, std::chrono::duration_cast<std::chrono::nanoseconds>(wanted));
}

// The most that the collector may hold while the recorder writes: four million ops.
inline constexpr std::size_t kMaxCollectedBytes = std::size_t{128} << 20;

inline constexpr std::int64_t kSamplePeriodNs = 100'000'000;

// How far the store lags at most behind the program for somebody who reads it meanwhile. Four
// commits a second are cheap, and SQLite is fast with large transactions.
inline constexpr std::int64_t kFlushPeriodNs = 250'000'000;

// How long a recorder waits at its end if another program has locked the store. A job that is told
// to stop is often killed after 10 seconds.
inline constexpr std::chrono::milliseconds kLastLockPatience{5000};

}  // namespace stepscope

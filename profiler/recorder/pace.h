// How often a recorder looks at the rings, reads the counters and commits.
#pragma once

#include <chrono>
#include <cstdint>

namespace stepscope {

// At a million ops a second a default ring fills in 65 ms; a busy drain comes back within a few.
inline constexpr std::chrono::milliseconds kDrainPeriod{10};
inline constexpr std::chrono::milliseconds kBusyDrainPeriod{1};

inline constexpr std::int64_t kSamplePeriodNs = 100'000'000;

// How old the store is at most to somebody who reads it meanwhile. Four commits a second are cheap,
// and large transactions are what makes SQLite fast.
inline constexpr std::int64_t kFlushPeriodNs = 250'000'000;

}  // namespace stepscope

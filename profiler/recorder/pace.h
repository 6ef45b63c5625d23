// How often a recorder polls the rings and commits.
#pragma once

#include <chrono>
#include <cstdint>

namespace stepscope {

// At a million ops a second a default ring fills in 65 ms; a busy drain comes back within a few.
inline constexpr std::chrono::milliseconds kDrainPeriod{10};
inline constexpr std::chrono::milliseconds kBusyDrainPeriod{1};

// The maximum age of the store for a concurrent reader. Four commits a second are cheap, and large
// transactions make SQLite fast.
inline constexpr std::int64_t kFlushPeriodNs = 250'000'000;

}  // namespace stepscope

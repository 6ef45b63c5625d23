// The limits of a store. A store can come from anywhere, so one that exceeds a limit is refused
// with a line that says so. No recording comes near them. docs/limits.md lists them for users.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/time.h"

namespace stepscope {

// Rows of each of process, thread, device and stream. All of them are kept in memory.
inline constexpr std::int64_t kMaxEntities = std::int64_t{1} << 20;

// Rows of string, which are kept in memory too.
inline constexpr std::int64_t kMaxStrings = std::int64_t{1} << 24;

// Bytes of one text, and of all names together. A file can refer to the same page many times, so
// its size does not bound what is read from it.
inline constexpr std::int64_t kLongestText = std::int64_t{16} << 20;
inline constexpr std::int64_t kMaxNameBytes = std::int64_t{1} << 30;

// Times lie within a year before or after the start of the session.
inline constexpr std::int64_t kFarthestNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr bool is_storable(SessionTime time) {
  return to_ns(time) >= -kFarthestNs && to_ns(time) <= kFarthestNs;
}

// The latest wall clock at the start of a session: in the year 2096.
inline constexpr std::int64_t kLatestUnixNs = 4'000'000'000'000'000'000;

// Durations, bytes and counts of one table add up to at most this much (73 years, 2 EiB), so that
// no sum over rows overflows, not even over three tables.
inline constexpr std::int64_t kMaxInAll = std::int64_t{1} << 61;

// Bytes of one copy or memset: 16 TiB. Recorders and importers store more than that as unknown.
inline constexpr std::int64_t kLargestCopy = std::int64_t{1} << 44;

// Lost events of one thread and kind. Higher counts are stored as this one.
inline constexpr std::int64_t kMaxLost = std::int64_t{1} << 50;

// Values of counters, positive or negative. Differences, and sums of a few, do not overflow.
inline constexpr std::int64_t kLargestValue = std::int64_t{1} << 60;

// Numbers of blocks, threads per block, registers and ranks; and values that are unsigned in CUPTI.
inline constexpr std::int64_t kLargestNumber = INT32_MAX;
inline constexpr std::int64_t kLargestUnsigned = UINT32_MAX;

// Steps of SQLite's virtual machine that one query may take: kQueryStepsPerByte for each byte of
// the file, and at least kMinQuerySteps. A row takes at least ten bytes and at most some tens of
// steps. Without a limit, a query on a damaged file might never end.
inline constexpr std::int64_t kQueryStepsPerByte = 64;
inline constexpr std::int64_t kMinQuerySteps = 50'000'000;

// Limits of a sweep.
inline constexpr std::size_t kMaxSweepParameters = 64;
inline constexpr std::size_t kMaxSweepCells = std::size_t{1} << 16;

// `amount`, or 0 ("unknown") if it is impossible. Amounts come from programs that may misbehave and
// from the traces of other profilers, and readers refuse a store with an impossible one.
constexpr std::int64_t known_amount(std::int64_t amount, std::int64_t most) {
  return amount >= 0 && amount <= most ? amount : 0;
}

}  // namespace stepscope

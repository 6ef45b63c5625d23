// What a store may hold. A store can come from anywhere: one that goes beyond these is refused with
// a line that says so. docs/limits.md lists them for people; none is near what a recording reaches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/time.h"

namespace stepscope {

// Rows of process, thread, device and stream, of each. All of them are kept in memory.
inline constexpr std::int64_t kMostEntities = std::int64_t{1} << 20;

// Rows of string, which are kept in memory too.
inline constexpr std::int64_t kMostStrings = std::int64_t{1} << 24;

// Bytes of one text, and of all names together. A file can name the same page many times, so its
// size is no limit on what is read from it.
inline constexpr std::int64_t kLongestText = std::int64_t{16} << 20;
inline constexpr std::int64_t kMostNameBytes = std::int64_t{1} << 30;

// Times lie within a year of the start of the session, either way.
inline constexpr std::int64_t kFarthestNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr bool is_storable(SessionTime time) {
  return to_ns(time) >= -kFarthestNs && to_ns(time) <= kFarthestNs;
}

// The wall clock at the start of the session: before the year 2096.
inline constexpr std::int64_t kLatestUnixNs = 4'000'000'000'000'000'000;

// Durations, bytes and counts of one table add up to at most this much (73 years, 2 EiB), so that
// no sum over rows overflows: also not that of three tables.
inline constexpr std::int64_t kMostInAll = std::int64_t{1} << 61;

// Bytes of one copy or memset, 16 TiB, as recorders and importers keep them: more is not known.
inline constexpr std::int64_t kLargestCopy = std::int64_t{1} << 44;

// Lost events of one thread and kind: more are counted as this many.
inline constexpr std::int64_t kMostLost = std::int64_t{1} << 50;

// Values of counters, either way: their differences and sums of a few do not overflow.
inline constexpr std::int64_t kLargestValue = std::int64_t{1} << 60;

// Numbers of blocks, threads of a block, registers and ranks; and what CUPTI has as unsigned.
inline constexpr std::int64_t kLargestNumber = INT32_MAX;
inline constexpr std::int64_t kLargestUnsigned = UINT32_MAX;

// Steps of SQLite's virtual machine that one query may take: for each byte of the file, and
// whatever its size. A row takes at least ten bytes and at most some tens of steps. A damaged file
// can be a maze in which a query never ends.
inline constexpr std::int64_t kQueryStepsPerByte = 64;
inline constexpr std::int64_t kLeastQuerySteps = 50'000'000;

// Of a sweep.
inline constexpr std::size_t kMostSweepParameters = 64;
inline constexpr std::size_t kMostSweepCells = std::size_t{1} << 16;

// 0, which is "not known", for what no such amount can be. Amounts come from programs that may have
// gone wild and from the traces of others; readers refuse a store with an impossible one.
constexpr std::int64_t known_amount(std::int64_t amount, std::int64_t most) {
  return amount >= 0 && amount <= most ? amount : 0;
}

}  // namespace stepscope

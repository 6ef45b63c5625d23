// The places in a sequence of items that may mark its cycle: those that recur.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/steps/cycle.h"

namespace stepscope {

// The minimum for a candidate; find_cycle() requires more.
inline constexpr double kSteadyShare = 0.65;   // of the distances are near the median
inline constexpr double kVaryingShare = 0.75;  // or this share is not far from it

using Positions = std::vector<std::uint32_t>;  // indexes of items

// The items with their names numbered, each from 0.
struct NamedItems {
  explicit NamedItems(std::span<const LoopItem> sequence);

  std::span<const LoopItem> items;
  std::vector<std::uint32_t> names;  // of each item
  std::vector<Positions> by_name;    // of each name
};

enum class Family : std::uint8_t { kCall, kName, kAfter, kGap };  // the more significant first

struct Candidate {
  Family family = Family::kName;
  Anchor anchor;
  Positions at;
  std::size_t length = 0;  // median distance
  double steady = 0;       // share of distances near it
  double varying = 0;      // share of distances at most twice or half as long
  double gap = 0;          // mean, before the anchor
};

// At most a few dozen, the most regular first.
std::vector<Candidate> cycle_candidates(const NamedItems& items);

inline double ns_of(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace stepscope

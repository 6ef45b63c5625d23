// Finds the cycle of a repeating sequence of items, which delimits its steps.
//
// Candidates are all places that can be identified: an item by its name, an item that follows an
// item of another name, an item after a long gap. A place that recurs often enough marks a cycle.
// Cycles nest (the layers of a model, its calls, what is logged every 10 calls); the step is the
// cycle in which the thread waits in most rounds, or the outermost one if it waits in none.
// docs/attribution.md, "Steps from ops", gives the rules and their reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/steps/loop_items.h"

namespace stepscope {

inline constexpr std::size_t kMinRounds = 5;  // fewer do not count as repetition
inline constexpr double kWaitFactor = 8;      // a wait is this many times as long as other gaps
inline constexpr std::uint32_t kMaxOccurrences = 8;  // that a round distinguishes of one name

// A place in the sequence, identified by the item and the one before it.
struct Anchor {
  ItemKey key = ItemKey::kNone;
  ItemKey after = ItemKey::kNone;  // kNone: after any
  Duration least_gap{0};

  [[nodiscard]] bool is_at(const LoopItem& item, ItemKey before) const {
    return item.key == key && (after == ItemKey::kNone || after == before) && item.gap >= least_gap;
  }
};

struct Cycle {
  Anchor anchor;  // once in a round
  // Where rounds begin: at the nth item of this name from the anchor on; 0: the anchor itself.
  ItemKey first = ItemKey::kNone;
  std::uint32_t nth = 0;
  std::size_t length = 0;  // items in a round, the median
  bool waits = false;      // the gap before `first` stands out: the thread waits there

  // Of the sequence in which it was found.
  std::size_t rounds = 0;
  double mean_gap = 0;  // before `first`, ns; the longest left out
};

// Nothing if the items do not repeat. O(n log n) time, a few words per item.
std::optional<Cycle> find_cycle(std::span<const LoopItem> items);

// The indexes of the items that begin a round. Items before the first anchor belong to no round,
// unless they contain one that equals the next round item by item.
std::vector<std::size_t> round_begins(const Cycle& cycle, std::span<const LoopItem> items);

// The same for items that arrive one by one, without that first round.
class CycleCutter {
 public:
  explicit CycleCutter(const Cycle& cycle) : cycle_(cycle) {}

  bool begins_round(const LoopItem& item);

 private:
  Cycle cycle_;
  ItemKey before_ = ItemKey::kNone;
  std::size_t since_anchor_ = kItemWindow;  // items
  std::uint32_t missing_ = 0;  // items of the name `first` up to the one that begins the round
};

}  // namespace stepscope

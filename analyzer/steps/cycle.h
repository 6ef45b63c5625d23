// The cycle of a sequence of items that repeats: what its steps are cut by.
//
// Candidates are all places that can be told by what they are: an item of a name, an item of a name
// after one of another, an item of a name after a long gap. One that comes in regular distances,
// with the same items between, marks a cycle. Cycles lie in one another (the layers of a model, the
// calls of it, what is logged every 10 calls); the one in whose every round the thread waits is the
// step. docs/attribution.md, "Steps from ops", tells the rules and their reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/steps/loop_items.h"

namespace stepscope {

inline constexpr std::size_t kLeastRounds = 5;  // fewer are no repetition
inline constexpr double kStandsOut = 8;         // a wait is so many times as long as other gaps
inline constexpr std::uint32_t kMostOccurrences = 8;  // of one name in a round, told apart

// A place in the sequence that can be told by the item and the one before it.
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

  // Of the sequence that it was found in.
  std::size_t rounds = 0;
  double mean_gap = 0;  // before `first`, ns; the longest left out
};

// Nothing when the items do not repeat. O(n log n) time, a few words an item.
std::optional<Cycle> find_cycle(std::span<const LoopItem> items);

// The indexes of the items that begin a round. What comes before the first anchor tells no round,
// but for one: the first, when it is item for item the same as the next.
std::vector<std::size_t> round_begins(const Cycle& cycle, std::span<const LoopItem> items);

// The same for items that come one after the other, without that first round.
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

// The activity of a thread as one sequence: its outermost ops and marked phases, and the beginnings
// of its labelled scopes, with the idle gap before each. This sequence repeats in a loop without
// marks.
//
// A scope around everything ("main") must not hide what repeats inside it: a scope is not an item
// that contains others, only a place in the sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "analyzer/ops/op_class.h"
#include "store/events.h"

namespace stepscope {

// The name of an item: of the op, the scope or the kind of phase. Unique.
enum class ItemKey : std::uint32_t { kNone = 0 };

struct LoopItem {
  SessionTime start;
  SessionTime end;  // for a scope: its start
  Duration gap{0};  // from the end of all earlier items; time within an ended label is not a gap
  ItemKey key = ItemKey::kNone;
  bool is_call = false;  // a labelled scope or a TorchScript function: a natural unit
  bool fills = false;    // an op that computes nothing: OpClasses::fills_tensors()
};

// The largest number of items of a thread held at a time, 32 bytes each; a step is found if at
// least 5 of them fit into half of it.
inline constexpr std::size_t kItemWindow = std::size_t{1} << 18;

// Thread safety: none.
class LoopItems {
 public:
  using Sink = std::function<void(std::vector<LoopItem>)>;

  // `phases` of the thread, by start. The items go to `sink` in order of their starts, half a
  // window at a time: an op that contains more items than that is an item next to them.
  LoopItems(const std::vector<Phase>& phases, Sink sink, std::size_t window = kItemWindow);

  // In the order of their ends, as a store has them. `fills`: OpClasses::fills_tensors().
  void add(const Op& op, OpClass kind, bool fills = false);
  void finish();

 private:
  struct Label {
    TimeRange range;
    ItemKey key = ItemKey::kNone;
  };

  void add_phases_until(SessionTime end);
  void add_work(TimeRange range, LoopItem item);
  void hand_out(std::size_t count);

  Sink sink_;
  const std::size_t window_;
  std::vector<Phase> phases_;  // by end
  std::size_t next_phase_ = 0;
  std::vector<LoopItem> work_;  // outermost so far, by end
  std::vector<Label> labels_;
  std::priority_queue<SessionTime, std::vector<SessionTime>, std::greater<>> open_labels_;  // ends
  SessionTime covered_ = SessionTime::min();  // everything before it is complete
  SessionTime handed_out_ = SessionTime::min();
};

}  // namespace stepscope

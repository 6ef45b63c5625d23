// Extra tracks for slices that do not nest on their own track: an asynchronous op that ends on
// another thread, phases that overlap.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "store/time.h"

namespace stepscope {

// The limit for one thread or stream. More would be unreadable, each costs a track in the viewer,
// and the search for a free one is linear.
inline constexpr std::size_t kMaxLanes = 128;

// Assigns slices, sorted by end, to flat lanes.
class FlatLanes {
 public:
  // A lane, from 0, on which [start, end) overlaps no earlier slice. Opens one if there is none;
  // nothing if there are kMaxLanes already.
  std::optional<std::size_t> place(SessionTime start, SessionTime end) {
    std::size_t lane = free_from_.size();
    if (!free_from_.empty() && free_from_.top().first <= start) {
      lane = free_from_.top().second;
      free_from_.pop();
    } else if (lane == kMaxLanes) {
      return std::nullopt;
    }
    free_from_.emplace(end, lane);
    return lane;
  }

 private:
  using EndOfLane = std::pair<SessionTime, std::size_t>;
  std::priority_queue<EndOfLane, std::vector<EndOfLane>, std::greater<>> free_from_;
};

// Assigns slices, sorted by start with parents before children, to lanes on which they nest
// strictly. The first lane that fits is used.
class NestedLanes {
 public:
  // A lane, from 0; nothing if none of kMaxLanes fits.
  std::optional<std::size_t> place(SessionTime start, SessionTime end) {
    std::size_t lane = 0;
    while (lane < open_ends_.size() && !fits(open_ends_[lane], start, end)) ++lane;
    if (lane == kMaxLanes) return std::nullopt;
    if (lane == open_ends_.size()) open_ends_.emplace_back();
    open_ends_[lane].push_back(end);
    return lane;
  }

 private:
  static bool fits(std::vector<SessionTime>& ends, SessionTime start, SessionTime end) {
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    return ends.empty() || end <= ends.back();
  }

  std::vector<std::vector<SessionTime>> open_ends_;  // of each lane: outermost first
};

}  // namespace stepscope

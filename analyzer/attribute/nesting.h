// Walks over the nested intervals of one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "store/time.h"

namespace stepscope {

// Which items of a walk are open.
class OpenItems {
 public:
  explicit OpenItems(std::size_t items) : open_(items, false) {}

  [[nodiscard]] bool has(std::size_t item) const { return open_[item]; }
  void open(std::size_t item) { open_[item] = true; }
  void close(std::size_t item) { open_[item] = false; }

 private:
  std::vector<bool> open_;
};

// The innermost of the open items of some kind: the one that began last. A walk queries it at each
// stretch and may be deep, so ended items are dropped only when they reach the top: constant time
// per item, whatever the depth.
class Innermost {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // Items come in the order of the walk.
  void add(std::size_t item) { items_.push_back(item); }
  // kNone: none is open.
  [[nodiscard]] std::size_t of(const OpenItems& open) {
    while (!items_.empty() && !open.has(items_.back())) items_.pop_back();
    return items_.empty() ? kNone : items_.back();
  }

 private:
  std::vector<std::size_t> items_;
};

// Calls visit(TimeRange, open) for each longest stretch of `frame` in which the same intervals are
// open; stretches with nothing open are left out. begin(item, open) is called when an item opens,
// before its stretches. range_of(item) is the TimeRange of an item.
//
// `items` are sorted by start, parents before children at equal starts. For intervals that overlap
// without nesting (imported traces have them), the later one is the inner one, even after its
// parent has ended. O(n log depth).
template <typename Item, typename RangeOf, typename Begin, typename Visit>
void for_each_nested_stretch(std::span<const Item> items, TimeRange frame, RangeOf range_of,
                             Begin begin, Visit visit) {
  using End = std::pair<SessionTime, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;  // of the open items
  OpenItems open(items.size());
  SessionTime now = frame.start;
  const auto walk_to = [&](SessionTime limit) {
    while (now < limit && !ends.empty()) {
      const SessionTime next = std::min(limit, ends.top().first);
      if (now < next) visit(TimeRange{now, next}, open);
      now = std::max(now, next);
      for (; !ends.empty() && ends.top().first <= now; ends.pop()) open.close(ends.top().second);
    }
    now = std::max(now, limit);
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const TimeRange range = range_of(items[i]);
    if (range.start >= frame.end) break;
    if (range.end <= frame.start || range.end <= range.start) continue;
    walk_to(std::max(range.start, frame.start));
    begin(i, open);
    open.open(i);
    ends.emplace(range.end, i);
  }
  walk_to(frame.end);
}

}  // namespace stepscope

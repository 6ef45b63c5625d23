// A walk over intervals of one thread that nest, or should.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "store/time.h"

namespace stepscope {

// Calls visit(TimeRange, open) for each longest stretch of `frame` in which the same intervals are
// open; `open` holds their indexes, the innermost (the one that started last) at the end; stretches
// with nothing open are left out. range_of(item) is the TimeRange of an item.
//
// `items` are sorted by start, parents before children at equal starts. Intervals that overlap
// without nesting (foreign traces hold them) are followed as they are: the later one is the inner
// one, also after its parent has ended. O(n × depth).
template <typename Item, typename RangeOf, typename Visit>
void for_each_nested_stretch(std::span<const Item> items, TimeRange frame, RangeOf range_of,
                             Visit visit) {
  std::vector<std::size_t> open;
  SessionTime now = frame.start;
  const auto walk_to = [&](SessionTime limit) {
    while (now < limit && !open.empty()) {
      SessionTime next = limit;
      for (const std::size_t index : open) next = std::min(next, range_of(items[index]).end);
      if (now < next) visit(TimeRange{now, next}, open);
      now = std::max(now, next);
      std::erase_if(open, [&](std::size_t index) { return range_of(items[index]).end <= now; });
    }
    now = std::max(now, limit);
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const TimeRange range = range_of(items[i]);
    if (range.start >= frame.end) break;
    if (range.end <= frame.start || range.end <= range.start) continue;
    walk_to(std::max(range.start, frame.start));
    open.push_back(i);
  }
  walk_to(frame.end);
}

}  // namespace stepscope

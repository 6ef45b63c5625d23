// Walks along runs that do not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "store/time.h"

namespace stepscope {

// A forward-only position in runs sorted by time. `Run` has a TimeRange `range`.
template <typename Run>
class Cursor {
 public:
  explicit Cursor(std::span<const Run> runs) : runs_(runs) {}

  // The run at `now`, or null in a gap. Lowers `next` to the time at which that answer changes.
  const Run* at(SessionTime now, SessionTime& next) {
    while (index_ < runs_.size() && runs_[index_].range.end <= now) ++index_;
    if (index_ == runs_.size()) return nullptr;
    const Run& run = runs_[index_];
    next = std::min(next, run.range.start > now ? run.range.start : run.range.end);
    return run.range.start > now ? nullptr : &run;
  }
  // The run that at() examined last: it is live or comes next; null: no more.
  [[nodiscard]] const Run* coming() const {
    return index_ < runs_.size() ? &runs_[index_] : nullptr;
  }

 private:
  std::span<const Run> runs_;
  std::size_t index_ = 0;
};

}  // namespace stepscope

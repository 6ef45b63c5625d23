#include "profiler/session/step_counter.h"

#include <algorithm>

namespace stepscope {

bool StepCounter::signal(StepMarker source) {
  if (source > source_) return false;
  if (source < source_) {
    source_ = source;
    signals_ = 0;
  }
  ++signals_;
  const std::int64_t before = current_;
  // A batch begins a step, all else ends one.
  const bool begins = source == StepMarker::kLoader || source == StepMarker::kInferred;
  current_ = begins ? signals_ : signals_ + 1;
  return current_ != before;
}

void StepCounter::loader_exhausted() {
  if (source_ == StepMarker::kLoader) --signals_;
}

std::int64_t StepCounter::completed() const { return std::max<std::int64_t>(current_ - 1, 0); }

}  // namespace stepscope

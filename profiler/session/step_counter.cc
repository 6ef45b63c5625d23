#include "profiler/session/step_counter.h"

#include <algorithm>
#include <utility>

namespace stepscope {

bool StepCounter::signal(StepMarker source) {
  if (source == StepMarker::kLoader) ++batches_;
  if (source == StepMarker::kOptimizer) note_update();
  if (source > source_) return false;
  if (source < source_) {
    source_ = source;
    signals_ = 0;
  }
  if (source == StepMarker::kLoader && !wait_begins_step()) return false;
  ++signals_;
  const std::int64_t before = current_;
  // A wait for a batch begins a step; every other signal ends one.
  const bool begins = source == StepMarker::kLoader || source == StepMarker::kInferred;
  current_ = begins ? signals_ : signals_ + 1;
  return current_ != before;
}

void StepCounter::note_update() {
  batches_ = 0;
  updated_ = true;
  exhausted_ = false;  // for a trainer that fetches ahead: the step that began then is a real one
  if (std::exchange(has_optimizer_, true) || source_ != StepMarker::kLoader) return;
  signals_ = current_ = 1;
}

bool StepCounter::wait_begins_step() {
  if (std::exchange(exhausted_, false)) {
    --signals_;
  } else if (signals_ > 0 && has_optimizer_ && !updated_) {
    wait_began_ = false;
    return false;
  }
  wait_began_ = true;
  updated_ = false;
  return true;
}

void StepCounter::loader_exhausted() {
  --batches_;
  if (source_ == StepMarker::kLoader) exhausted_ = wait_began_;
}

std::int64_t StepCounter::completed() const { return std::max<std::int64_t>(current_ - 1, 0); }

}  // namespace stepscope

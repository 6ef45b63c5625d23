// Counts the steps of the running loop to find the current step, so that a window of steps can be
// recorded.
//
// The same order of trust as the analyzer's: a user's step() over the loader over the optimizer.
// The first call of a more trusted source takes over from a less trusted one.
//
// Thread safety: none; called under the session's lock, a few times a step.
#pragma once

#include <cstdint>

#include "store/analysis.h"

namespace stepscope {

class StepCounter {
 public:
  // A signal of `source`. kUser and kOptimizer: a step has ended. kLoader: a step begins, as the
  // wait for its batch does. Returns true when current() has changed.
  bool signal(StepMarker source);

  // The loader's last wait found it exhausted: that wait belongs to no step, and the next one
  // begins the step that this one seemed to begin.
  void loader_exhausted();

  // 1-based number of the step that the loop is in.
  [[nodiscard]] std::int64_t current() const { return current_; }
  // Whole steps so far.
  [[nodiscard]] std::int64_t completed() const;

 private:
  StepMarker source_ = StepMarker::kInferred;
  std::int64_t signals_ = 0;
  std::int64_t current_ = 1;
};

}  // namespace stepscope

// Counts the steps of a running loop, so that a window of steps can be recorded.
//
// Trusts the same sources in the same order as the analyzer: the user's step(), then the loader,
// then the optimizer. The first signal of a more trusted source replaces a less trusted one.
//
// Several batches may make one optimizer step (gradient accumulation). So once an optimizer has
// stepped, a wait begins a step only if an optimizer step came since the last step began: k batches
// are one step, and the batches of an evaluation are none. Before the first optimizer step, each
// wait begins a step; that optimizer step corrects the count: the loop is in step 1.
//
// Thread safety: none; called under the session's lock, a few times a step.
#pragma once

#include <cstdint>

#include "profiler/visibility.h"
#include "store/analysis.h"

namespace stepscope {

class StepCounter {
 public:
  // A signal of `source`. kUser and kOptimizer: a step has ended. kLoader: a wait for a batch, with
  // which a step may begin. Returns true if another step begins here; the correction by the first
  // optimizer step does not count.
  STEPSCOPE_HOT bool signal(StepMarker source);

  // Whether so many batches came without an optimizer step that this must be an evaluation. It
  // belongs to the step before it. Waiting for the end of that step before ops can be switched off
  // would cost too much.
  [[nodiscard]] bool is_in_long_evaluation() const {
    return has_optimizer_ && batches_ > kMaxBatchesAStep;
  }

  // The last wait found the loader exhausted. If no optimizer step follows, the wait belongs to no
  // step, and the next wait begins the step that this one seemed to begin.
  void loader_exhausted();

  // The number of the current step, counted from 1.
  [[nodiscard]] std::int64_t current() const { return current_; }
  // Whole steps so far.
  [[nodiscard]] std::int64_t completed() const;

 private:
  static constexpr std::int64_t kMaxBatchesAStep = 64;

  STEPSCOPE_HOT void note_update();
  STEPSCOPE_HOT [[nodiscard]] bool wait_begins_step();

  StepMarker source_ = StepMarker::kInferred;
  std::int64_t signals_ = 0;
  std::int64_t current_ = 1;
  bool has_optimizer_ = false;
  bool updated_ = false;      // an optimizer step came since the step began
  bool wait_began_ = false;   // the last wait began a step
  bool exhausted_ = false;    // the last wait began a step and found the loader exhausted
  std::int64_t batches_ = 0;  // since the last optimizer step
};

}  // namespace stepscope

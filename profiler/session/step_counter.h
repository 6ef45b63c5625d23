// Counts the steps of the running loop to find the current step, so that a window of steps can be
// recorded.
//
// The same order of trust as the analyzer's: a user's step() over the loader over the optimizer.
// The first call of a more trusted source takes over from a less trusted one.
//
// Several batches may make one optimizer step (gradient accumulation). So once an optimizer has
// stepped, a wait begins a step only if an optimizer step came since the last step began: k batches
// are one step, and the batches of an evaluation are none. Until then each wait begins a step. The
// first optimizer step corrects that: the loop is in step 1.
//
// Thread safety: none; called under the session's lock, a few times a step.
#pragma once

#include <cstdint>

#include "store/analysis.h"

namespace stepscope {

class StepCounter {
 public:
  // A signal of `source`. kUser and kOptimizer: a step has ended. kLoader: a wait for a batch, with
  // which a step may begin. Returns true when another step begins here; the correction by the first
  // optimizer step is no such place.
  bool signal(StepMarker source);

  // So many batches came without an optimizer step that this is an evaluation. It belongs to the
  // step before it; recording its ops would cost too much if it could end only with that step.
  [[nodiscard]] bool is_in_long_evaluation() const {
    return has_optimizer_ && batches_ > kMostBatchesAStep;
  }

  // The loader's last wait found it exhausted. If no optimizer step follows, it belongs to no step,
  // and the next wait begins the step that this one seemed to begin.
  void loader_exhausted();

  // 1-based number of the step that the loop is in.
  [[nodiscard]] std::int64_t current() const { return current_; }
  // Whole steps so far.
  [[nodiscard]] std::int64_t completed() const;

 private:
  static constexpr std::int64_t kMostBatchesAStep = 64;

  void note_update();
  [[nodiscard]] bool wait_begins_step();

  StepMarker source_ = StepMarker::kInferred;
  std::int64_t signals_ = 0;
  std::int64_t current_ = 1;
  bool has_optimizer_ = false;
  bool updated_ = false;      // an optimizer step came since the step began
  bool wait_began_ = false;   // the last wait began a step
  bool exhausted_ = false;    // it did, and found the loader exhausted
  std::int64_t batches_ = 0;  // since the last optimizer step
};

}  // namespace stepscope

// Steps that say nothing about the program, because a signal had stopped it.
#pragma once

#include <vector>

#include "analyzer/counters/counters.h"
#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// A step in which the loop's process was stopped, or in which it waited for another rank that was:
// such a step takes kLongStep times as long as the median step, or longer. The counters outlive
// this.
class StoppedSteps {
 public:
  static constexpr int kLongStep = 2;

  StoppedSteps(const RecordedRun& recording, const Counters& counters, const Loop& loop);
  [[nodiscard]] bool contains(const TimeRange& step) const;

 private:
  const Stops* own_;                 // null: none
  std::vector<const Stops*> ranks_;  // of the other ranks
  Duration usual_{0};                // a step
};

}  // namespace stepscope

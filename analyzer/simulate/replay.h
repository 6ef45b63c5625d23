// Lets a step graph run again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/simulate/step_graph.h"

namespace stepscope {

struct Replay {
  std::vector<double> steps;  // ns, one for each counted position
  // Where the loop's lane spent its time, per category, over the counted steps; what it waited for
  // counts as what it waited for.
  std::array<double, kCategoryCount> exposed{};
  // 1, unless the loop only enqueues and a device cannot follow: then what a step takes in the long
  // run, over the mean of `steps`.
  double behind = 1;

  [[nodiscard]] double mean() const;  // of a step, ns; the device's when it cannot follow
};

// Each task begins when its lane is free and what it awaits is done, and takes its duration.
// O(tasks).
Replay replay(const StepGraph& graph);

}  // namespace stepscope

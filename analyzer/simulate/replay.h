// Replays a step graph.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/simulate/step_graph.h"

namespace stepscope {

struct Replay {
  std::vector<double> steps;  // ns, one for each counted position
  // What the loop's lane spent its time on, per category, in each counted position; a wait has the
  // category of what it waited for.
  std::vector<std::array<double, kCategoryCount>> exposed;
  // 1, unless the loop only enqueues work and a device cannot keep up: then the step time in the
  // long run, relative to the mean of `steps`.
  double behind = 1;

  [[nodiscard]] double mean() const;  // of a step, ns; the device's if it cannot keep up
};

// Each task begins when its lane is free and what it awaits is done, and runs for its duration.
// O(tasks).
Replay replay(const StepGraph& graph);

}  // namespace stepscope

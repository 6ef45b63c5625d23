// The steps of a distributed run, with what each rank did in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// What a rank did in one step.
struct RankTurn {
  std::size_t index = 0;  // in LoopReport::steps
  double work_ns = 0, communication_ns = 0, dur_ns = 0;
};

// A step that was measured alike on all ranks. In it, the rank with the most work of its own enters
// the collectives last, and the time by which another rank communicates longer than it does is
// spent waiting for it.
struct ComparedStep {
  std::vector<RankTurn> turns;  // by rank
  std::size_t last = 0;         // the rank that came last
  bool held_up = false;         // the others waited for it for kMinRankGap of the step or more
  double saved_ns = 0;          // what it would save if that rank were as fast as the next

  [[nodiscard]] double wait_ns(std::size_t rank) const;
};

// The steps that are analysed in every loop; there is one loop per rank.
std::vector<ComparedStep> compared_steps(const std::vector<const LoopReport*>& ranks);

// Counts the steps of each kind. `only`: the steps that the user requested.
RankSteps count_steps(const std::vector<const LoopReport*>& ranks,
                      const std::vector<ComparedStep>& compared,
                      const std::optional<StepSpan>& only);

}  // namespace stepscope

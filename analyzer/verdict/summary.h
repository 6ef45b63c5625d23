// Figures over the steps of a loop: means, percentiles, shares.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Nearest-rank percentiles. Zeros for no steps.
WallStats wall_stats(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);

// Ratio of sums over the chosen steps.
Shares exposed_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);
Shares hidden_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);
PhaseMeans phase_means(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);

// The waits of `phases` (the loop thread's) that began in a chosen step. A wait in a wait counts
// once.
InputUse input_use(const std::vector<Phase>& phases, const std::vector<Step>& steps,
                   const std::vector<std::size_t>& chosen,
                   const std::function<std::string_view(StringId)>& text);

// The same for waits that were inferred.
InputUse inferred_use(const InferredInput& input, const std::vector<Step>& steps,
                      const std::vector<std::size_t>& chosen);

// Exposed time of one step.
std::int64_t exposed_ns(const Step& step, Category category);

}  // namespace stepscope

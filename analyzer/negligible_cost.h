// Whether steps with ops may count like those without, though recording ops made them longer.
#pragma once

#include <vector>

namespace stepscope {

// Below this share of a step, the cost of recording ops never matters.
inline constexpr double kNegligibleCost = 0.01;
// Above this share, it always does: a step time must be within 2 % of the program's own.
inline constexpr double kLargestNegligibleCost = 0.02;

// Between the two, leaving the steps with ops out avoids a bias, but the mean of fewer steps is
// less certain. The cost is negligible if the bias is the smaller of the two: its share of a step,
// times the share of the steps that have it, against the standard errors of both means.
//
// `cost_ns`: the cost in a step with ops. `plain`: the times of the steps without ops, in ns;
// `all`: the times of these and of the steps with ops.
bool is_negligible(double cost_ns, const std::vector<double>& plain,
                   const std::vector<double>& all);

}  // namespace stepscope

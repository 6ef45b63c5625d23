// What a step would take if lines of the program took less time.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/advise/context.h"

namespace stepscope {

// The lines of one function in one place and category: its share of that category.
struct FunctionShare {
  LineShare top;     // its largest line
  double share = 0;  // of all its lines
  double ci_low = 0, ci_high = 0;
};

// The program's own functions in a place and category, the largest first.
std::vector<FunctionShare> functions_in(const LoopReport& report, LinePlace place,
                                        std::string_view category);

// The mean step, ns, if `share` of a place and category took 1 / `factor` of its time. Workers make
// batches side by side: the loop waits for the slowest part of that. Nothing where the waits do not
// come from what the workers do all the time.
std::optional<double> step_with_faster(const AdviceContext& context, LinePlace place,
                                       std::string_view category, double share, double factor);

}  // namespace stepscope

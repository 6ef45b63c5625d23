// What a step would take if lines of the program took less time.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/advise/context.h"

namespace stepscope {

// The lines of one function in one place and category: its share of that category. Where a function
// says nothing, each of its lines stands for itself: in code that has no name of its own (a module,
// a lambda), and in the function that contains the loop.
struct FunctionShare {
  LineShare top;  // its largest line
  bool one_line = false;
  double share = 0;  // of all its lines
  double ci_low = 0, ci_high = 0;
};

// The program's own functions in a place and category, the largest first.
std::vector<FunctionShare> functions_in(const LoopReport& report, LinePlace place,
                                        std::string_view category);

// The mean step, in ns, if `share` of a place and category took 1 / `factor` of its time. Workers
// make batches in parallel with the step, which then takes as long as the slowest of three: the
// workers, the rest of the step, and the cores. Nothing if most steps do not wait for the workers.
std::optional<double> step_with_faster(const AdviceContext& context, LinePlace place,
                                       std::string_view category, double share, double factor);

// The same if a line took 1 / `factor` of its time, in all places and categories that it has.
std::optional<double> step_with_faster_line(const AdviceContext& context, std::string_view file,
                                            std::int64_t line, double factor);

}  // namespace stepscope

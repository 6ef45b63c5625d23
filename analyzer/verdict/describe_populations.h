// Describes the kinds of step: which steps, how long, what distinguishes them, what bounds them.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The populations of the chosen steps (find_populations), the usual steps first. A single one,
// "all", where there is one kind. `unit`: the word for a step (LoopReport::unit()).
std::vector<Population> describe_populations(const std::vector<Step>& steps,
                                             const std::vector<std::size_t>& chosen,
                                             const char* unit);

}  // namespace stepscope

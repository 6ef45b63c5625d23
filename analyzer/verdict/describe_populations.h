// Describes the kinds of step: which steps, how long, what distinguishes them, what bounds them.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The populations of the chosen steps (find_populations), the usual steps first. A single one where
// there is one kind.
std::vector<Population> describe_populations(const std::vector<Step>& steps,
                                             const std::vector<std::size_t>& chosen);

}  // namespace stepscope

// What makes two runs hard to compare, in sentences.
#pragma once

#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// From how many steps on nothing is said about there being few.
inline constexpr std::size_t kEnoughSteps = 20;

// `comparison` has its loops already. The weightiest first.
std::vector<Note> notes_of(const AnalysisReport& a, const AnalysisReport& b,
                           const Comparison& comparison);

}  // namespace stepscope

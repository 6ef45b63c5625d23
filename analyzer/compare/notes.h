// Notes on what makes two runs hard to compare, a sentence each.
#pragma once

#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// With fewer steps than this, a note says so.
inline constexpr std::size_t kEnoughSteps = 20;

// `comparison` must already have its loops. The most important note first.
std::vector<Note> notes_of(const AnalysisReport& a, const AnalysisReport& b,
                           const Comparison& comparison);

}  // namespace stepscope

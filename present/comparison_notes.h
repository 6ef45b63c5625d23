// Notes on what makes two runs hard to compare, a sentence each.
#pragma once

#include <string>

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// `note` belongs to `comparison`, which compares `a` and `b`.
std::string note_text(const Note& note, const AnalysisReport& a, const AnalysisReport& b,
                      const Comparison& comparison);

}  // namespace stepscope

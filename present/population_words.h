// What distinguishes the kinds of step of a loop, and how its steps change, in words.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/report.h"

namespace stepscope {

// "input"; for a scope "\"checkpoint\"".
std::string cause_text(const Cause& cause);

// "all", "usual steps", "every 20th step (20, 40, …): +12.0 ms in input". `index` is that of
// LoopReport::populations.
std::string population_label(const LoopReport& loop, std::size_t index);

// "The steps get slower: +49.1 ms (…) over the run, most of it in input."
std::string drift_sentence(const Drift& drift, const char* unit);

}  // namespace stepscope

// The time that steps spent on each cause.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analyzer/facts/cause.h"
#include "store/analysis.h"

namespace stepscope {

// Exposed ns of each cause in the chosen steps, in their order. At most kMaxCauses: those with the
// largest totals.
std::map<Cause, std::vector<double>> cause_times(const std::vector<Step>& steps,
                                                 const std::vector<std::size_t>& chosen);
inline constexpr std::size_t kMaxCauses = 32;

}  // namespace stepscope

// What a step spent its time on: a category, or within `other` a labelled scope.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "store/analysis.h"

namespace stepscope {

struct Cause {
  Category category = Category::kHost;
  std::string label;  // of kOther: the scope's name
  friend auto operator<=>(const Cause&, const Cause&) = default;
};

// "input"; for a scope "\"checkpoint\"".
std::string cause_text(const Cause& cause);

// Exposed ns of each cause in the chosen steps, in their order. At most kMostCauses: those with the
// largest totals.
std::map<Cause, std::vector<double>> cause_times(const std::vector<Step>& steps,
                                                 const std::vector<std::size_t>& chosen);
inline constexpr std::size_t kMostCauses = 32;

}  // namespace stepscope

// What a step spent its time on: a category, or within `other` a labelled scope.
#pragma once

#include <compare>
#include <string>

#include "store/analysis.h"

namespace stepscope {

struct Cause {
  Category category = Category::kHost;
  std::string label;  // for kOther: the scope's name
  friend auto operator<=>(const Cause&, const Cause&) = default;
};

}  // namespace stepscope

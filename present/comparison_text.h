// The page that `stepscope compare` prints: the answer first, then what changed, then the gates.
#pragma once

#include <string>

#include "present/comparison_view.h"

namespace stepscope {

// No line is wider than 100 characters. Ends in a newline.
std::string comparison_text(const ComparisonView& view, bool color);

}  // namespace stepscope

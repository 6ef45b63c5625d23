// The machine-readable contract "stepscope.comparison/1": docs/cli.md lists the keys.
#pragma once

#include <string>

#include "present/comparison_view.h"

namespace stepscope {

// One JSON document, indented, ending in a newline.
std::string comparison_json(const ComparisonView& view);

}  // namespace stepscope

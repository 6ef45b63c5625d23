// The machine-readable contract "stepscope.sweep/1": docs/sweep.md lists the keys.
#pragma once

#include <string>

#include "sweep/sweep_report.h"

namespace stepscope {

// One JSON document, indented, ending in a newline.
std::string sweep_json(const SweepReport& report, const std::string& path);

}  // namespace stepscope

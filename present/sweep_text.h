// The result of a sweep as a page of text, at most 100 columns wide.
#pragma once

#include <string>

#include "sweep/sweep_report.h"

namespace stepscope {

std::string sweep_text(const SweepReport& report, const std::string& path, bool color);

}  // namespace stepscope

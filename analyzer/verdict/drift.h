// Detects steps that get slower or faster over the run.
#pragma once

#include <optional>

#include "analyzer/report.h"

namespace stepscope {

// The trend (trend_of) of the usual steps in the report's populations, with the cause that changed
// most. Of all steps if their level changes at once and the usual steps lie on one side of the
// change. Nothing if there is no trend.
std::optional<Drift> find_drift(const LoopReport& report);

}  // namespace stepscope

// Makes the report of a sweep from its runs.
#pragma once

#include "store/read_sweep.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// An incomplete sweep gets a report of the runs it has.
SweepReport analyze_sweep(const SweepData& data);

}  // namespace stepscope

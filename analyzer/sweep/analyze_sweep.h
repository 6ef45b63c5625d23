// From the runs of a sweep to what they say.
#pragma once

#include "analyzer/sweep/sweep_report.h"
#include "store/sweep_store.h"

namespace stepscope {

// A sweep that is not complete has a report too, of what is there.
SweepReport analyze_sweep(const SweepData& data);

}  // namespace stepscope

// From the runs of a sweep to what they say.
#pragma once

#include "store/sweep_store.h"
#include "sweep/sweep_report.h"

namespace stepscope {

// A sweep that is not complete has a report too, of what is there.
SweepReport analyze_sweep(const SweepData& data);

}  // namespace stepscope

// Who had the cores while threads of a loop were ready to run.
#pragma once

#include "analyzer/counters/counters.h"
#include "analyzer/report.h"
#include "analyzer/starved/schedule.h"

namespace stepscope {

// Measures over `range`, which contains the analysed steps of `report`. Names a taker only if a
// tenth of the step or more was starved.
CoreUse measure_cores(const LoopReport& report, const Schedule& schedule, const Counters& counters,
                      const RecordedRun& recording, TimeRange range);

}  // namespace stepscope

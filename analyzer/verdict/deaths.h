// How processes ended.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/counters/counters.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"

namespace stepscope {

// One report for each process, in the order of the recording, at most kMaxProcesses. `loops`: the
// reports so far; memory growth is measured over their steady steps.
std::vector<ProcessReport> describe_processes(const RecordedRun& recording,
                                              const Counters& counters,
                                              const std::vector<LoopReport>& loops);

// The indexes of the processes that died, in order of death.
std::vector<std::size_t> order_of_deaths(const std::vector<ProcessReport>& processes);

}  // namespace stepscope

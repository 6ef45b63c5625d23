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

// How fast memory grows, in bytes per step: the median of the slopes between all pairs of readings
// (Theil 1950, Sen 1968), which is robust against a checkpoint's peak and steps of another kind.
// Only pairs that lie a step or more apart count: what a single step allocates, such as an import
// in it, is no growth per step. 0 if there are readings in fewer than kMinReadings of `steps`,
// which are in order.
double growth_per_step(const CounterSeries& memory, const std::vector<Step>& steps);
inline constexpr std::size_t kMinReadings = 5;

// The least growth over all steps, as a share of the memory held, that is reported.
inline constexpr double kMinGrowth = 0.05;

// The indexes of the processes that died, in order of death.
std::vector<std::size_t> order_of_deaths(const std::vector<ProcessReport>& processes);

}  // namespace stepscope

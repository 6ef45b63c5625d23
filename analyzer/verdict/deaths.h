// How processes ended, and the sentence that says so.
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "analyzer/samples/counters.h"

namespace stepscope {

// One for each process of the recording, in its order, but kMostProcesses at most. `loops`: the
// reports so far; memory growth is measured over their steady steps.
std::vector<ProcessReport> describe_processes(const RecordedRun& recording,
                                              const Counters& counters,
                                              const std::vector<LoopReport>& loops);

// How fast memory grows, in bytes a step: the median of the slopes between all pairs of readings
// (Theil 1950, Sen 1968), which neither a checkpoint's peak nor a step of another kind can move. 0
// for fewer than kLeastReadings readings within `steps`, which are in order.
double growth_per_step(const CounterSeries& memory, const std::vector<Step>& steps);
inline constexpr std::size_t kLeastReadings = 5;

// From which share of what is held the growth over all steps is worth a word.
inline constexpr double kLeastGrowth = 0.05;

// How the recording ended before the program did; "" when it did not.
std::string gap_sentence(const RunFacts& run);

// The sentences about processes that died, the first to die first.
std::vector<std::string> death_sentences(const std::vector<ProcessReport>& processes);

}  // namespace stepscope

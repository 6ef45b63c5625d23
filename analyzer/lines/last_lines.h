// Where the threads of a process were when it ended, and where those of a running one are.
#pragma once

#include <vector>

#include "analyzer/lines/stack_history.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"

namespace stepscope {

// Fills ProcessReport::last_lines of the processes that died. A thread that was not sampled in the
// last second is left out.
void add_last_lines(const RecordedRun& recording, const StackHistory& history,
                    std::vector<ProcessReport>& processes);

// Where the loop's thread is, followed by the thread that makes the batch it waits for. From their
// latest samples, none older than a second before `now`.
std::vector<LastLine> lines_now(const RecordedRun& recording, const StackHistory& history,
                                const LoopReport& loop, SessionTime now);

}  // namespace stepscope

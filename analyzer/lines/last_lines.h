// Where the threads of a process were when it ended, and where those of a running one are.
#pragma once

#include <vector>

#include "analyzer/lines/stack_history.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"

namespace stepscope {

// Fills ProcessReport::last_lines of the processes that died. A thread that was not sampled in the
// last second of its process is left out.
void add_last_lines(const RecordedRun& recording, const StackHistory& history,
                    std::vector<ProcessReport>& processes);

// Where the loop's thread is, by its latest sample, then where the thread is that makes its batch,
// by the latest sample that was taken while the loop waited for it. A sample from more than a
// second before `now` is left out.
std::vector<LastLine> lines_now(const RecordedRun& recording, const StackHistory& history,
                                const LoopReport& loop, SessionTime now);

}  // namespace stepscope

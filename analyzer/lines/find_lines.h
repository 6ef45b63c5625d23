// The lines of the program that took a loop's time.
//
// Marks and the scheduler say exactly how long the loop was in each phase, and for how much of that
// its thread was blocked; samples only divide these times among lines. docs/attribution.md,
// "Lines", states the rules.
#pragma once

#include "analyzer/lines/stack_history.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Whether the thread may make the loop's batches: another thread of the loop's process, or a thread
// of a child process.
bool may_make_batches(const StoredWatchedThread& thread, const LoopReport& report,
                      const RecordedRun& recording);

// Fills report.lines and report.line_use from the steps, phases and starvation of `report`.
void find_lines(const RecordedRun& recording, const Loop& loop, const StackHistory& history,
                LoopReport& report);

}  // namespace stepscope

// The lines of the program that a loop's time went to.
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

// Whether the thread may make the loop's batches: another of its process, or one of a child's.
bool may_make_batches(const StoredWatchedThread& thread, const LoopReport& report,
                      const RecordedRun& recording);

// Fills report.lines and report.line_use from the steps, phases and starvation of `report`.
void find_lines(const RecordedRun& recording, const Loop& loop, const StackHistory& history,
                LoopReport& report);

}  // namespace stepscope

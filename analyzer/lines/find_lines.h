// The lines of the program that took a loop's time.
//
// Marks and the scheduler say exactly how long the loop was in each phase, and for how much of that
// its thread was blocked; samples only divide these times among lines. docs/attribution.md,
// "Lines", states the rules.
#pragma once

#include <set>

#include "analyzer/lines/stack_history.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "analyzer/steps/loop_parts.h"

namespace stepscope {

// The threads that may make a loop's batches: the other threads of its process, and those of the
// processes that it started.
class BatchMakers {
 public:
  BatchMakers(const RecordedRun& recording, const LoopReport& report);

  [[nodiscard]] bool contains(const StoredWatchedThread& thread) const;

 private:
  const LoopReport& report_;
  const std::set<ProcessId> processes_;
};

// Fills report.lines and report.line_use from the steps, phases and starvation of `report`.
// `parts`: of its steps, those that have the time of report.phases.
void find_lines(const RecordedRun& recording, const StepStretches& parts,
                const StackHistory& history, LoopReport& report);

}  // namespace stepscope

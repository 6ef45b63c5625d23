// Derives the starvation of a loop from the schedules of threads.
#pragma once

#include <vector>

#include "analyzer/counters/counters.h"
#include "analyzer/report.h"
#include "analyzer/starved/schedule.h"
#include "analyzer/steps/loop_parts.h"

namespace stepscope {

// Fills report.starvation and the starved part of report.input from the steps, shares and input of
// `report`. `parts`: of its steps. Without any reading of the loop thread, nothing is
// known and the net shares equal the shares.
void measure_starvation(LoopReport& report, const StepStretches& parts, const Schedule& schedule,
                        const Counters& counters, const RecordedRun& recording);

}  // namespace stepscope

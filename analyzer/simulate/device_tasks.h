// Adds the device work to replayed steps: calls of the CUDA API on the host's lanes, and each
// activity on its stream's lane, right after the call that launched it.
//
// What a call waited for follows from the recording: a synchronising call waited for each stream
// whose work submitted before the call was done when the call returned; a copy's call waited for
// its copy if that was done by then.
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/simulate/step_sampler.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// One step sample for each of `loops`. Memory: the device events of the replayed steps. Fails only
// when reading fails.
Status add_device_tasks(const RecordedRun& recording, const std::vector<Loop>& loops,
                        std::vector<StepSample>& samples);

}  // namespace stepscope

// Puts what devices did into sampled steps: calls of the CUDA API on the host's lanes, and each
// activity on its stream's lane, right after the call that launched it.
//
// What a call waited for is read off the recording: a synchronising call for each stream whose
// work, as far as it was given before the call, was done when the call returned; a copy's call for
// its copy, when that was done by then.
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/simulate/step_sampler.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Of one sample for each of `loops`. Memory: the device events of the sampled steps. Fails only
// when reading fails.
Status add_device_tasks(const RecordedRun& recording, const std::vector<Loop>& loops,
                        std::vector<StepSample>& samples);

}  // namespace stepscope

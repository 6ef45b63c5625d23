// What is worked out of the recorded device work for the views on it: what launched each piece,
// how well kernels fill a multiprocessor, what runs beside copies, how busy streams are.
//
// Memory: 16 bytes a kernel, copy and memset while it is worked out, and 56 a launch.
#pragma once

#include <functional>

#include "analyzer/attribute/device_work.h"
#include "analyzer/correlate/call_ops.h"
#include "analyzer/recording.h"
#include "store/analysis.h"

namespace stepscope {

// What the loop was in at a call, by its index in DeviceWork.
using PhaseOfCall = std::function<PhaseKind(std::uint32_t call)>;

// Fails only when reading the store fails.
Result<DeviceFacts> collect_device_facts(const RecordedRun& recording, const DeviceWork& work,
                                         const CallOrigins& origins, const PhaseOfCall& phase_of);

}  // namespace stepscope

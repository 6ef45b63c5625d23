// What is worked out of the recorded device work for the views on it: what launched each piece,
// how well kernels fill a multiprocessor, what runs beside copies, how busy streams are.
//
// Memory: 16 bytes a kernel, copy and memset while it is worked out, 56 a launch and 48 a copy.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/correlate/call_ops.h"
#include "analyzer/recording.h"
#include "store/analysis.h"

namespace stepscope {

// What the loop was in at a call, by its index in DeviceWork.
using PhaseOfCall = std::function<PhaseKind(std::uint32_t call)>;

// A copy, as a report needs it.
struct CopyUse {
  SessionTime start;
  Duration dur{0};
  Duration kernel{0};  // of dur: while a kernel ran on the device
  std::int64_t bytes = 0;
  StreamId stream = StreamId::kNone;
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
};

struct DeviceUse {
  DeviceFacts facts;
  std::map<DeviceId, std::vector<CopyUse>> copies;  // in the order of recording
  // Of the kernels of a name on a device: the mean occupancy, weighted by their times.
  std::map<std::pair<DeviceId, StringId>, double> occupancy;
};

// Fails only when reading the store fails.
Result<DeviceUse> collect_device_use(const RecordedRun& recording, const DeviceWork& work,
                                     const CallOrigins& origins, const PhaseOfCall& phase_of);

}  // namespace stepscope

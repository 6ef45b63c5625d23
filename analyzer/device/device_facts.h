// Derives facts from the recorded device work: what launched each activity, how well kernels fill a
// multiprocessor, what overlaps with copies, how busy streams are.
//
// Memory: 16 bytes per kernel, copy and memset while computing, 56 per launch and 48 per copy.
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

// The phase of the loop at a call, by the index of the call in DeviceWork.
using PhaseOfCall = std::function<PhaseKind(std::uint32_t call)>;

// A copy, as a report needs it.
struct CopyUse {
  SessionTime start;
  Duration dur{0};
  Duration kernel{0};  // part of dur in which a kernel ran on the device
  std::int64_t bytes = 0;
  StreamId stream = StreamId::kNone;
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
};

struct DeviceUse {
  DeviceFacts facts;
  std::map<DeviceId, std::vector<CopyUse>> copies;  // in the order of recording
  // By kernel name on a device: the mean occupancy, weighted by time.
  std::map<std::pair<DeviceId, StringId>, double> occupancy;
};

// Fails only when reading the store fails.
Result<DeviceUse> collect_device_use(const RecordedRun& recording, const DeviceWork& work,
                                     const CallOrigins& origins, const PhaseOfCall& phase_of);

}  // namespace stepscope

// The breakdown of a step that other tools print, for comparison only (docs/attribution.md, "The
// older breakdown"): each instant goes to the first of kernel, memcpy, memset, runtime call, input
// wait and host op that is live anywhere, whatever it delays. The rules are those of PyTorch's
// TensorBoard plugin.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/ops/op_class.h"
#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"
#include "store/analysis.h"

namespace stepscope {

// When each thread was in an op, collected while the ops are read: 16 bytes per outermost op. The
// ops of one thread must come in the order of their ends, as a store returns them.
class BusyThreads {
 public:
  // Ranges that a profiler puts around everything do not count as ops.
  void add(const Op& op, OpClass kind);
  // The ranges of one thread, in order, without overlaps.
  [[nodiscard]] const std::vector<TimeRange>& of(ThreadId thread) const;

 private:
  std::map<ThreadId, std::vector<TimeRange>> ranges_;
};

struct PriorityBreakdown {
  std::vector<PriorityTime> steps;
  std::vector<DeviceUtilization> devices;
};

// The breakdown of each loop with a device. A step begins with the user's mark, or at the end of
// the previous step if that is later. It ends with its mark or the last device activity that was
// launched in it. The last step is left out if it launched fewer than 0.8 times the activities of
// the one before. Memory: 16 bytes per activity, call and outermost op.
PriorityBreakdown priority_breakdown(const RecordedRun& recording, const DeviceWork& work,
                                     const std::vector<Loop>& loops, const BusyThreads& ops);

}  // namespace stepscope

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

// Where each thread was in an op, collected while the ops are read: 16 bytes an outermost op. Takes
// them as a store hands them out: of one thread in the order of their ends.
class BusyThreads {
 public:
  // Ranges that a profiler puts around everything do not count as ops.
  void add(const Op& op, OpClass kind);
  // Of one thread: in order, without overlaps.
  [[nodiscard]] const std::vector<TimeRange>& of(ThreadId thread) const;

 private:
  std::map<ThreadId, std::vector<TimeRange>> ranges_;
};

struct PriorityBreakdown {
  std::vector<PriorityTime> steps;
  std::vector<DeviceUtilization> devices;
};

// Of each loop with a device. A step runs from where the user's mark begins, or the step before
// ended if that is later, to the end of its mark or of the last device activity that was launched
// in it. The last step is left out when it launched fewer than 0.8 times the activities of the one
// before. Memory: 16 bytes an activity, call and outermost op.
PriorityBreakdown priority_breakdown(const RecordedRun& recording, const DeviceWork& work,
                                     const std::vector<Loop>& loops, const BusyThreads& ops);

}  // namespace stepscope

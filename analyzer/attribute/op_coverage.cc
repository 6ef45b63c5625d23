#include "analyzer/attribute/op_coverage.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope {
namespace {

// Switching takes at most this long and, in very short steps, at most this part of the step.
constexpr Duration kLongestSwitch{1'000'000};
constexpr std::int64_t kMinStepParts = 4;

}  // namespace

OpCoverage::OpCoverage(const RecordedRun& recording) {
  std::unordered_map<ThreadId, ProcessId> process_of;
  for (const StoredThread& thread : recording.threads) process_of[thread.id] = thread.process;
  std::map<ProcessId, std::vector<Phase>> marks;
  for (const Phase& mark : recording.op_switches) marks[process_of[mark.thread]].push_back(mark);
  for (auto& [process, own] : marks) {
    std::stable_sort(own.begin(), own.end(),
                     [](const Phase& a, const Phase& b) { return a.start < b.start; });
    std::vector<TimeRange>& ranges = recorded_[process];
    bool open = false;
    for (const Phase& mark : own) {
      const bool begins = mark.kind == PhaseKind::kOpsBegin;
      if (begins && !open) ranges.push_back({mark.start, SessionTime::max()});
      if (!begins && open) ranges.back().end = mark.start;
      open = begins;
    }
  }
}

OpsRecorded OpCoverage::of(ProcessId process, TimeRange step) const {
  const auto known = recorded_.find(process);
  if (known == recorded_.end()) return OpsRecorded::kUnknown;
  const Duration slack = std::min(kLongestSwitch, Duration(step.length() / kMinStepParts));
  const SessionTime begin = step.start + slack, end = step.end - slack;
  const auto range =
      std::partition_point(known->second.begin(), known->second.end(),
                           [begin](const TimeRange& one) { return one.end <= begin; });
  if (range == known->second.end() || range->start >= end) return OpsRecorded::kNone;
  return range->start <= begin && range->end >= end ? OpsRecorded::kAll : OpsRecorded::kPart;
}

bool OpCoverage::in_parts(ProcessId process) const {
  const auto known = recorded_.find(process);
  return known != recorded_.end() &&
         (known->second.size() > 1 ||
          (!known->second.empty() && known->second.front().end != SessionTime::max()));
}

}  // namespace stepscope

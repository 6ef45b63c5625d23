#include "analyzer/attribute/device_sweep.h"

#include <algorithm>

#include "analyzer/attribute/cursor.h"

namespace stepscope {
namespace {

std::vector<DeviceRun>& of(DeviceRuns& runs, Category category) {
  switch (category) {
    case Category::kCommunication:
      return runs.communication;
    case Category::kCopy:
      return runs.copy;
    default:
      return runs.compute;
  }
}

// Activities come by start. While several run (on different streams), the time counts for the
// first.
void add(std::vector<DeviceRun>& runs, const DeviceActivity& activity, TimeRange frame) {
  SessionTime start = std::max(activity.start, frame.start);
  if (!runs.empty()) start = std::max(start, runs.back().range.end);
  const SessionTime end = std::min(activity.end, frame.end);
  if (start < end) runs.push_back({{start, end}, activity.call});
}

// Of the runs that begin where a gap ends, finds the one that was launched first.
class NextRun {
 public:
  NextRun(const DeviceWork& work, const DeviceActivity* after)
      : work_(work), call_(after == nullptr ? kNoCall : after->call) {}

  void consider(const DeviceRun* run, SessionTime start) {
    if (run == nullptr || run->range.start != start) return;
    if (!found_ || is_earlier(run->call)) call_ = run->call;
    found_ = true;
  }
  [[nodiscard]] std::uint32_t call() const { return call_; }

 private:
  [[nodiscard]] bool is_earlier(std::uint32_t call) const {
    if (call == kNoCall) return false;
    return call_ == kNoCall || work_.call(call).start < work_.call(call_).start;
  }

  const DeviceWork& work_;
  std::uint32_t call_;
  bool found_ = false;
};

}  // namespace

DeviceRuns DeviceCursor::advance(TimeRange frame) {
  DeviceRuns runs;
  for (const DeviceActivity& activity : running_) add(of(runs, activity.category), activity, frame);
  std::erase_if(running_, [&](const DeviceActivity& a) { return a.end <= frame.end; });
  const std::size_t first = index_;
  for (; index_ < activities_.size() && activities_[index_].start < frame.end; ++index_) {
    const DeviceActivity& activity = activities_[index_];
    add(of(runs, activity.category), activity, frame);
    if (activity.end > frame.end) running_.push_back(activity);
  }
  runs.begun = activities_.subspan(first, index_ - first);
  return runs;
}

const DeviceActivity* DeviceCursor::next() const {
  return index_ < activities_.size() ? &activities_[index_] : nullptr;
}

void blame_idle_time(TimeRange gap, std::uint32_t call, const HostView& host,
                     std::vector<DeviceSegment>& segments) {
  SessionTime called = gap.end;
  ThreadId thread = ThreadId::kNone;
  if (call != kNoCall) {
    called = std::clamp(host.work.call(call).start, gap.start, gap.end);
    thread = host.work.call(call).thread;
  }
  if (gap.start < called) {
    const std::span<const HostState> states = host.states_of(thread);
    auto state = std::partition_point(states.begin(), states.end(),
                                      [&](const HostState& s) { return s.range.end <= gap.start; });
    for (SessionTime now = gap.start; now < called && state != states.end(); ++state) {
      const SessionTime end = std::min(state->range.end, called);
      segments.push_back({{now, end}, state->category, state->phase, state->label});
      now = end;
    }
  }
  if (called < gap.end)
    segments.push_back({{called, gap.end}, Category::kLaunch, host.phase_of(call)});
}

std::vector<DeviceSegment> sweep_device(TimeRange frame, const DeviceRuns& runs,
                                        const DeviceActivity* next_activity, const HostView& host) {
  std::vector<DeviceSegment> segments;
  Cursor<DeviceRun> compute(runs.compute), communication(runs.communication), copy(runs.copy);
  for (SessionTime now = frame.start; now < frame.end;) {
    SessionTime next = frame.end;
    const DeviceRun* const computes = compute.at(now, next);
    const DeviceRun* const communicates = communication.at(now, next);
    const DeviceRun* const copies = copy.at(now, next);
    const DeviceRun* const first = computes != nullptr       ? computes
                                   : communicates != nullptr ? communicates
                                                             : copies;
    if (first == nullptr) {
      NextRun delayed(host.work, next_activity);
      for (const Cursor<DeviceRun>* cursor : {&compute, &communication, &copy})
        delayed.consider(cursor->coming(), next);
      blame_idle_time({now, next}, delayed.call(), host, segments);
    } else {
      DeviceSegment segment{{now, next},
                            first == computes       ? Category::kCompute
                            : first == communicates ? Category::kCommunication
                                                    : Category::kCopy,
                            host.phase_of(first->call)};
      if (communicates != nullptr && first != communicates)
        segment.hidden_communication = host.phase_of(communicates->call);
      if (copies != nullptr && first != copies) segment.hidden_copy = host.phase_of(copies->call);
      segments.push_back(segment);
    }
    now = next;
  }
  return segments;
}

}  // namespace stepscope

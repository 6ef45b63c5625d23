#include "analyzer/attribute/priority_breakdown.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "analyzer/attribute/cursor.h"
#include "store/merge_ranges.h"

namespace stepscope {
namespace {

constexpr double kWholeStep = 0.8;

// In the order of priority.
enum Kind { kKernel, kMemcpy, kMemset, kRuntime, kDataLoader, kCpuOp, kKinds };
constexpr std::array<Duration PriorityTime::*, kKinds> kColumns = {
    &PriorityTime::kernel,  &PriorityTime::memcpy,     &PriorityTime::memset,
    &PriorityTime::runtime, &PriorityTime::dataloader, &PriorityTime::cpu_op};

// In the form that Cursor needs.
struct Run {
  TimeRange range;
};
using Runs = std::vector<Run>;

Runs runs_of(const std::vector<TimeRange>& ranges) {
  Runs runs;
  for (const TimeRange& range : merge_ranges(ranges)) runs.push_back({range});
  return runs;
}

struct LaunchedWork {
  SessionTime called;
  SessionTime end;  // of the activity
};

// What one process did, by kind.
struct ProcessEvents {
  std::array<std::vector<TimeRange>, kKinds> ranges;
  std::vector<LaunchedWork> launches;  // by the time of the call
  std::map<DeviceId, std::vector<TimeRange>> kernels;
};

Kind kind_of(const DeviceActivity& activity) {
  if (activity.category != Category::kCopy) return kKernel;
  return activity.memset ? kMemset : kMemcpy;
}

void collect_device(const DeviceWork& work, DeviceId device, ProcessEvents& events) {
  for (const DeviceActivity& activity : work.activities_of(device)) {
    const TimeRange range{activity.start, activity.end};
    const Kind kind = kind_of(activity);
    events.ranges[kind].push_back(range);
    if (kind == kKernel) events.kernels[device].push_back(range);
    if (activity.call != kNoCall)
      events.launches.push_back({work.call(activity.call).start, range.end});
  }
}

void collect_thread(const DeviceWork& work, ThreadId thread, const BusyThreads& ops,
                    ProcessEvents& events) {
  for (const HostCall& call : work.calls_of(thread))
    events.ranges[kRuntime].push_back(call.range());
  auto& busy = events.ranges[kCpuOp];
  busy.insert(busy.end(), ops.of(thread).begin(), ops.of(thread).end());
}

// Other tools see these as ops of the profiler; here they are phases.
void collect_phase(const Phase& phase, ProcessEvents& events) {
  const TimeRange range{phase.start, end_of(phase)};
  if (phase.kind == PhaseKind::kInput || phase.kind == PhaseKind::kInputEnd)
    events.ranges[kDataLoader].push_back(range);
  if (phase.kind == PhaseKind::kOptimizer || phase.kind == PhaseKind::kZeroGrad)
    events.ranges[kCpuOp].push_back(range);
}

ProcessEvents collect(const RecordedRun& recording, const DeviceWork& work, const BusyThreads& ops,
                      ProcessId process) {
  ProcessEvents events;
  for (const StoredDevice& device : recording.devices) {
    if (device.process == process) collect_device(work, device.id, events);
  }
  for (const StoredThread& thread : recording.threads) {
    if (thread.process != process) continue;
    collect_thread(work, thread.id, ops, events);
    for (const Phase& phase : phases_of(recording, thread.id)) collect_phase(phase, events);
  }
  std::sort(events.launches.begin(), events.launches.end(),
            [](const LaunchedWork& a, const LaunchedWork& b) { return a.called < b.called; });
  return events;
}

// The user's marks if they have durations, else the steps as they were found.
std::vector<TimeRange> marked_steps(const RecordedRun& recording, const Loop& loop) {
  std::vector<TimeRange> marks;
  if (loop.marker == StepMarker::kUser) {
    for (const Phase& phase : phases_of(recording, loop.thread)) {
      if (phase.kind == PhaseKind::kStep && phase.dur.count() > 0)
        marks.push_back({phase.start, end_of(phase)});
    }
  }
  return marks.empty() ? loop.steps : marks;
}

struct StepWindow {
  TimeRange range;
  std::size_t launched = 0;
};

std::vector<StepWindow> step_windows(const std::vector<TimeRange>& marks,
                                     const std::vector<LaunchedWork>& launches) {
  std::vector<StepWindow> windows;
  SessionTime previous_end = SessionTime::min();
  auto launch = launches.begin();
  for (const TimeRange& mark : marks) {
    StepWindow window{{std::max(previous_end, mark.start), mark.end}, 0};
    while (launch != launches.end() && launch->called < mark.start) ++launch;
    for (; launch != launches.end() && launch->called < mark.end; ++launch, ++window.launched) {
      window.range.end = std::max(window.range.end, launch->end);
    }
    previous_end = window.range.end;
    windows.push_back(window);
  }
  return windows;
}

bool is_cut_off(const std::vector<StepWindow>& windows) {
  if (windows.size() < 2) return false;
  const auto before = static_cast<double>(windows[windows.size() - 2].launched);
  return static_cast<double>(windows.back().launched) < kWholeStep * before;
}

std::vector<PriorityTime> split(const std::vector<StepWindow>& windows,
                                const std::array<Runs, kKinds>& runs, const Loop& loop) {
  std::vector<Cursor<Run>> cursors;
  for (const Runs& kind : runs) cursors.emplace_back(std::span<const Run>(kind));
  std::vector<PriorityTime> times;
  for (const StepWindow& window : windows) {
    PriorityTime& time = times.emplace_back();
    time.thread = loop.thread;
    time.step = loop.first_number + static_cast<std::int64_t>(times.size()) - 1;
    for (SessionTime now = window.range.start; now < window.range.end;) {
      SessionTime next = window.range.end;
      Duration PriorityTime::* column = &PriorityTime::other;
      for (std::size_t kind = kKinds; kind-- > 0;) {
        if (cursors[kind].at(now, next) != nullptr) column = kColumns[kind];
      }
      time.*column += next - now;
      now = next;
    }
  }
  return times;
}

}  // namespace

void BusyThreads::add(const Op& op, OpClass kind) {
  if (kind == OpClass::kTransparent || op.dur.count() <= 0) return;
  std::vector<TimeRange>& ranges = ranges_[op.thread];
  TimeRange range{op.start, op.start + op.dur};
  // Its children came before it.
  while (!ranges.empty() && ranges.back().end >= range.start) {
    range.start = std::min(range.start, ranges.back().start);
    range.end = std::max(range.end, ranges.back().end);
    ranges.pop_back();
  }
  ranges.push_back(range);
}

const std::vector<TimeRange>& BusyThreads::of(ThreadId thread) const {
  static const std::vector<TimeRange> kNone;
  const auto it = ranges_.find(thread);
  return it == ranges_.end() ? kNone : it->second;
}

PriorityBreakdown priority_breakdown(const RecordedRun& recording, const DeviceWork& work,
                                     const std::vector<Loop>& loops, const BusyThreads& ops) {
  PriorityBreakdown result;
  if (recording.devices.empty()) return result;
  for (const Loop& loop : loops) {
    const ProcessEvents events = collect(recording, work, ops, loop.process);
    std::vector<StepWindow> windows = step_windows(marked_steps(recording, loop), events.launches);
    if (windows.empty() || events.launches.empty()) continue;
    const TimeRange span{windows.front().range.start, windows.back().range.end};
    for (const auto& [device, kernels] : events.kernels) {
      result.devices.push_back(
          {loop.thread, device, covered(merge_ranges(kernels), span), span.length()});
    }
    if (is_cut_off(windows)) windows.pop_back();
    std::array<Runs, kKinds> runs;
    for (std::size_t kind = 0; kind < kKinds; ++kind) runs[kind] = runs_of(events.ranges[kind]);
    const auto times = split(windows, runs, loop);
    result.steps.insert(result.steps.end(), times.begin(), times.end());
  }
  return result;
}

}  // namespace stepscope

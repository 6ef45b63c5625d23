#include "analyzer/attribute/priority_breakdown.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "analyzer/attribute/cursor.h"

namespace stepscope {
namespace {

constexpr double kWholeStep = 0.8;

// In the order of priority.
enum Kind { kKernel, kMemcpy, kMemset, kRuntime, kDataLoader, kCpuOp, kKinds };
constexpr std::array<Duration PriorityTime::*, kKinds> kColumns = {
    &PriorityTime::kernel,  &PriorityTime::memcpy,     &PriorityTime::memset,
    &PriorityTime::runtime, &PriorityTime::dataloader, &PriorityTime::cpu_op};

struct Run {
  TimeRange range;
};
using Runs = std::vector<Run>;

// Where any of `ranges` is live.
Runs merge(std::vector<TimeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.start < b.start; });
  Runs merged;
  for (const TimeRange& range : ranges) {
    if (range.end <= range.start) continue;
    if (!merged.empty() && range.start <= merged.back().range.end) {
      merged.back().range.end = std::max(merged.back().range.end, range.end);
    } else {
      merged.push_back({range});
    }
  }
  return merged;
}

struct Launch {
  SessionTime called;
  SessionTime end;  // of the activity
};

// What one process did, of each kind.
struct ProcessEvents {
  std::array<std::vector<TimeRange>, kKinds> ranges;
  std::unordered_map<std::int64_t, SessionTime> called;  // correlation → start of the call
  std::vector<Launch> launches;                          // by the time of the call, once read
  std::map<DeviceId, std::vector<TimeRange>> kernels;
};

class Reader {
 public:
  explicit Reader(const RecordedRun& recording) : recording_(recording) {
    for (const StoredThread& thread : recording.threads) process_of_[thread.id] = thread.process;
    std::map<DeviceId, ProcessId> owner;
    for (const StoredDevice& device : recording.devices) owner[device.id] = device.process;
    for (const StoredStream& stream : recording.streams) {
      device_of_[stream.id] = stream.device;
      owner_of_[stream.id] = owner[stream.device];
    }
  }

  Status read(const BusyThreads& ops) {
    Status status = read_calls();
    if (status.ok()) status = read_activities(recording_.for_each_kernel, kKernel);
    if (status.ok()) status = read_activities(recording_.for_each_copy, kMemcpy);
    if (status.ok()) status = read_activities(recording_.for_each_memset, kMemset);
    if (!status.ok()) return status;
    for (auto& [process, events] : processes_) {
      events.called.clear();
      std::sort(events.launches.begin(), events.launches.end(),
                [](const Launch& a, const Launch& b) { return a.called < b.called; });
    }
    for (const auto& [thread, process] : process_of_) {
      auto& ranges = processes_[process].ranges[kCpuOp];
      ranges.insert(ranges.end(), ops.of(thread).begin(), ops.of(thread).end());
    }
    read_phases();
    return {};
  }

  ProcessEvents& of(ProcessId process) { return processes_[process]; }

 private:
  Status read_calls() {
    if (!recording_.for_each_api_call) return {};
    return recording_.for_each_api_call([&](const ApiCall& call) {
      ProcessEvents& events = processes_[process_of_[call.thread]];
      events.ranges[kRuntime].push_back({call.start, call.start + call.dur});
      if (call.correlation != 0) events.called.try_emplace(call.correlation, call.start);
    });
  }

  template <typename Event>
  Status read_activities(const RecordedRun::Source<Event>& source, Kind kind) {
    if (!source) return {};
    return source([&](const Event& event) {
      ProcessEvents& events = processes_[owner_of_[event.stream]];
      const TimeRange range{event.start, event.start + event.dur};
      events.ranges[kind].push_back(range);
      if (kind == kKernel) events.kernels[device_of_[event.stream]].push_back(range);
      const auto call = events.called.find(event.correlation);
      if (call != events.called.end()) events.launches.push_back({call->second, range.end});
    });
  }

  // What other tools see as ops of the profiler's own is a phase here.
  void read_phases() {
    for (const Phase& phase : recording_.phases) {
      ProcessEvents& events = processes_[process_of_[phase.thread]];
      const TimeRange range{phase.start, end_of(phase)};
      if (phase.kind == PhaseKind::kInput || phase.kind == PhaseKind::kInputEnd)
        events.ranges[kDataLoader].push_back(range);
      if (phase.kind == PhaseKind::kOptimizer || phase.kind == PhaseKind::kZeroGrad)
        events.ranges[kCpuOp].push_back(range);
    }
  }

  const RecordedRun& recording_;
  std::unordered_map<ThreadId, ProcessId> process_of_;
  std::unordered_map<StreamId, DeviceId> device_of_;
  std::unordered_map<StreamId, ProcessId> owner_of_;
  std::map<ProcessId, ProcessEvents> processes_;
};

// The marks of the user where they have lengths, else the steps as they were found.
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
                                     const std::vector<Launch>& launches) {
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
      Duration PriorityTime::*column = &PriorityTime::other;
      for (std::size_t kind = kKinds; kind-- > 0;) {
        if (cursors[kind].at(now, next) != nullptr) column = kColumns[kind];
      }
      time.*column += next - now;
      now = next;
    }
  }
  return times;
}

Duration covered(const Runs& runs, TimeRange span) {
  Duration sum{0};
  for (const Run& run : runs) {
    const SessionTime start = std::max(run.range.start, span.start);
    const SessionTime end = std::min(run.range.end, span.end);
    if (start < end) sum += end - start;
  }
  return sum;
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

Result<PriorityBreakdown> priority_breakdown(const RecordedRun& recording,
                                             const std::vector<Loop>& loops,
                                             const BusyThreads& ops) {
  PriorityBreakdown result;
  if (recording.devices.empty()) return result;
  Reader reader(recording);
  if (Status status = reader.read(ops); !status.ok()) return status;
  for (const Loop& loop : loops) {
    ProcessEvents& events = reader.of(loop.process);
    std::vector<StepWindow> windows = step_windows(marked_steps(recording, loop), events.launches);
    if (windows.empty() || events.launches.empty()) continue;
    const TimeRange span{windows.front().range.start, windows.back().range.end};
    for (const auto& [device, kernels] : events.kernels) {
      result.devices.push_back({loop.thread, device, covered(merge(kernels), span), span.length()});
    }
    if (is_cut_off(windows)) windows.pop_back();
    std::array<Runs, kKinds> runs;
    for (std::size_t kind = 0; kind < kKinds; ++kind) runs[kind] = merge(events.ranges[kind]);
    const auto times = split(windows, runs, loop);
    result.steps.insert(result.steps.end(), times.begin(), times.end());
  }
  return result;
}

}  // namespace stepscope

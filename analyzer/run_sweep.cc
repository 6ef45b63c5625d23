#include "analyzer/run_sweep.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/loop_report.h"
#include "analyzer/serving/step_work.h"
#include "analyzer/simulate/device_tasks.h"
#include "analyzer/steps/segment_ranges.h"
#include "analyzer/steps/warm_up.h"

namespace stepscope {
namespace {

// When the devices finished what the loop's process gave them in each step.
std::vector<std::optional<SessionTime>> device_ends(const RecordedRun& recording,
                                                    const DeviceWork& devices, const Loop& loop) {
  std::set<ThreadId> threads;
  for (const StoredThread& thread : recording.threads) {
    if (thread.process == loop.process) threads.insert(thread.id);
  }
  std::vector<std::optional<SessionTime>> ends(loop.steps.size());
  for (const StoredDevice& device : recording.devices) {
    for (const DeviceActivity& activity : devices.activities_of(device.id)) {
      if (activity.call == kNoCall) continue;
      const HostCall& call = devices.call(activity.call);
      const auto after = std::ranges::upper_bound(loop.steps, call.start, {}, &TimeRange::start);
      if (after == loop.steps.begin() || !threads.contains(call.thread)) continue;
      const auto step = std::prev(after);
      if (call.start >= step->end) continue;
      auto& end = ends[static_cast<std::size_t>(step - loop.steps.begin())];
      end = std::max(end.value_or(activity.end), activity.end);
    }
  }
  return ends;
}

std::size_t warm_up_of(const RecordedRun& recording, const DeviceWork& devices, const Loop& loop) {
  std::vector<Duration> times;
  for (const TimeRange step : loop.steps) times.push_back(length_outside_of(step, loop.segments));
  const std::size_t warm_up = warm_up_steps(times, step_work(recording, loop));
  if (recording.devices.empty()) return warm_up;
  return std::max(warm_up, run_ahead_steps(loop.steps, device_ends(recording, devices, loop)));
}

// The loops about which the ops of a thread may reveal facts: the thread's own loop. If it has
// none, or an unmarked one, all loops of its process.
class LoopsOfThreads {
 public:
  LoopsOfThreads(const RecordedRun& recording, const std::vector<Loop>& loops) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      of_process_[loops[i].process].push_back(i);
      if (loops[i].marker != StepMarker::kInferred) own_[loops[i].thread] = {i};
    }
    for (const StoredThread& thread : recording.threads) process_of_[thread.id] = thread.process;
  }

  [[nodiscard]] const std::vector<std::size_t>& of(ThreadId thread) const {
    static const std::vector<std::size_t> kNone;
    const auto own = own_.find(thread);
    if (own != own_.end()) return own->second;
    const auto process = process_of_.find(thread);
    if (process == process_of_.end()) return kNone;
    const auto loops = of_process_.find(process->second);
    return loops == of_process_.end() ? kNone : loops->second;
  }

 private:
  std::map<ThreadId, std::vector<std::size_t>> own_;
  std::map<ProcessId, std::vector<std::size_t>> of_process_;
  std::map<ThreadId, ProcessId> process_of_;
};

}  // namespace

RunSweep::RunSweep(const RecordedRun& recording, const DeviceWork& devices,
                   const ModuleHistory& modules, const std::vector<Loop>& loops,
                   const AnalyzeOptions& options)
    : recording_(recording),
      devices_(devices),
      modules_(modules),
      loops_(loops),
      options_(options) {
  for (const Loop& loop : loops)
    warm_up_.push_back(options.with_warm_up ? 0 : warm_up_of(recording, devices, loop));
}

Result<SweptRun> RunSweep::sweep(NativeSamples& native) {
  CallOps call_ops(recording_, devices_);
  BusyThreads busy;
  std::vector<StepSampler> samplers = make_samplers();
  AttributeOptions options;
  options.devices = &devices_;
  options.modules = &modules_.calls();
  options.progress = options_.progress;
  options.op_series = options_.op_samples;
  options.observer = [&samplers](std::size_t loop) { return &samplers[loop]; };
  std::vector<OpFactsReader> facts = make_facts();
  const LoopsOfThreads loops_of(recording_, loops_);
  const bool with_devices = !recording_.devices.empty();
  options.on_op = [&](const Op& op, std::int64_t id, OpClass kind) {
    for (const std::size_t loop : loops_of.of(op.thread)) {
      if (!in_segment(op.start, loops_[loop].segments)) facts[loop].add(op, kind);
    }
    native.add(op);
    if (!with_devices) return;
    call_ops.add(op, id, kind);
    busy.add(op, kind);
  };
  const auto role = [this](std::size_t loop, std::size_t step) { return role_of(loop, step); };
  auto attributed = attribute(recording_, loops_, role, options);
  if (!attributed.ok()) return attributed.status();

  SweptRun swept;
  swept.loops = *std::move(attributed);
  for (StepSampler& sampler : samplers) swept.samples.push_back(sampler.finish());
  for (const OpFactsReader& reader : facts) swept.facts.push_back(reader.finish());
  if (Status status = add_device_tasks(recording_, loops_, swept.samples); !status.ok())
    return status;
  swept.origins = call_ops.take();
  swept.older = priority_breakdown(recording_, devices_, loops_, busy);
  return swept;
}

StepRole RunSweep::role_of(std::size_t loop, std::size_t step) const {
  if (!is_asked_for(options_, loops_[loop], step)) return StepRole::kLeftOut;
  return step < warm_up_[loop] ? StepRole::kWarmUp : StepRole::kSteady;
}

std::vector<OpFactsReader> RunSweep::make_facts() const {
  std::vector<OpFactsReader> facts;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const auto counts = [this, i](std::size_t step) {
      return role_of(i, step) == StepRole::kSteady;
    };
    facts.emplace_back(loops_[i], counts, recording_.text);
  }
  return facts;
}

std::vector<StepSampler> RunSweep::make_samplers() const {
  const bool only_with_ops = recording_.facts.windowed && recording_.op_count > 0;
  std::vector<StepSampler> samplers;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const auto eligible = [this, i, only_with_ops](std::size_t step, bool ops_recorded) {
      return role_of(i, step) == StepRole::kSteady && (ops_recorded || !only_with_ops);
    };
    samplers.emplace_back(eligible, StepSampler::kMaxTasks / loops_.size());
  }
  return samplers;
}

}  // namespace stepscope

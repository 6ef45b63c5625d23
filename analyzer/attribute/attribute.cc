#include "analyzer/attribute/attribute.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "analyzer/attribute/loop_sweeper.h"

namespace stepscope {
namespace {

constexpr std::int64_t kProgressEvery = 1 << 16;

// The marks of the recording show it. Without them, a windowed recording has the ops of its window
// only; any other has all ops or none.
OpsRecorded ops_recorded(const RecordedRun& recording, const OpCoverage& coverage,
                         ProcessId process, TimeRange step, bool has_ops) {
  const OpsRecorded marked = coverage.of(process, step);
  if (marked != OpsRecorded::kNone && recording.facts.ops_dropped && !has_ops)
    return OpsRecorded::kPart;
  if (marked != OpsRecorded::kUnknown) return marked;
  // If the ops of another process were switched, this one has ops in all steps, or in none.
  const bool in_parts = recording.facts.windowed || !recording.op_switches.empty();
  const bool recorded = in_parts ? has_ops : recording.op_count > 0;
  return recorded ? OpsRecorded::kAll : OpsRecorded::kNone;
}

// Whether a step may end in an unmarked wait for the next batch. Only the ops of the next forward
// pass show where that wait ends.
bool infers_pause_at_end(const Loop& loop) {
  return loop.marker == StepMarker::kUser && !loop.input.begins.empty();
}

// Whether ops are no longer recorded after the step.
bool is_cut_off(const OpCoverage& coverage, ProcessId process, TimeRange step) {
  const OpsRecorded next = coverage.of(process, {step.end, step.end + Duration(step.length() / 2)});
  return next == OpsRecorded::kNone || next == OpsRecorded::kPart;
}

// Which loops an op of a thread may concern.
class Router {
 public:
  explicit Router(const RecordedRun& recording) {
    for (const StoredThread& thread : recording.threads) process_of_[thread.id] = thread.process;
  }

  void add(const Loop& loop, std::unique_ptr<LoopSweeper> sweeper) {
    own_[loop.thread] = sweeper.get();
    by_process_[loop.process].push_back(sweeper.get());
    sweepers_.push_back(std::move(sweeper));
  }
  // The sweeper of the thread's loop; null: the thread has none.
  [[nodiscard]] LoopSweeper* own(ThreadId thread) const {
    const auto known = own_.find(thread);
    return known == own_.end() ? nullptr : known->second;
  }
  // The sweepers of all loops in the thread's process.
  [[nodiscard]] std::span<LoopSweeper* const> around(ThreadId thread) const {
    const auto process = process_of_.find(thread);
    if (process == process_of_.end()) return {};
    const auto loops = by_process_.find(process->second);
    return loops == by_process_.end() ? std::span<LoopSweeper* const>() : loops->second;
  }
  [[nodiscard]] const std::vector<std::unique_ptr<LoopSweeper>>& sweepers() const {
    return sweepers_;
  }

 private:
  std::vector<std::unique_ptr<LoopSweeper>> sweepers_;
  std::map<ThreadId, LoopSweeper*> own_;
  std::map<ProcessId, std::vector<LoopSweeper*>> by_process_;
  std::unordered_map<ThreadId, ProcessId> process_of_;
};

// For each process, the threads that call a device and have no loop of their own.
std::map<ProcessId, std::set<ThreadId>> launching_threads(const RecordedRun& recording,
                                                          const DeviceWork& devices,
                                                          const std::vector<Loop>& loops) {
  std::set<ThreadId> leaders;
  for (const Loop& loop : loops) leaders.insert(loop.thread);
  std::map<ProcessId, std::set<ThreadId>> launching;
  for (const StoredThread& thread : recording.threads) {
    if (!leaders.contains(thread.id) && !devices.calls_of(thread.id).empty())
      launching[thread.process].insert(thread.id);
  }
  return launching;
}

// If a device's calls are all unknown, an importer did not see them. Its work can only be that of
// its process's one loop.
std::vector<DeviceId> devices_of(const RecordedRun& recording, const DeviceWork& work,
                                 const std::vector<Loop>& loops, ProcessId process,
                                 const std::set<ThreadId>& threads) {
  std::vector<DeviceId> devices = work.devices_of(threads);
  if (std::ranges::count(loops, process, &Loop::process) != 1) return devices;
  for (const StoredDevice& device : recording.devices) {
    if (device.process == process && work.calls_are_unknown(device.id))
      devices.push_back(device.id);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

Router make_router(const RecordedRun& recording, const std::vector<Loop>& loops,
                   const RoleOfStep& role, const AttributeOptions& options) {
  Router router(recording);
  const auto coverage = std::make_shared<const OpCoverage>(recording);
  std::map<ProcessId, std::set<ThreadId>> launching;
  if (options.devices != nullptr) launching = launching_threads(recording, *options.devices, loops);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    LoopSweeper::Config config;
    config.launch_overhead = recording.facts.leaf_op_overhead;
    const ProcessId process = loops[i].process;
    const bool pause_at_end = infers_pause_at_end(loops[i]);
    config.ops_recorded = [&recording, coverage, process, pause_at_end](TimeRange step,
                                                                        bool has_ops) {
      const OpsRecorded own = ops_recorded(recording, *coverage, process, step, has_ops);
      if (own != OpsRecorded::kAll || !pause_at_end) return own;
      return is_cut_off(*coverage, process, step) ? OpsRecorded::kPart : own;
    };
    config.in_parts = coverage->in_parts(process) || recording.facts.ops_dropped;
    config.op_series = options.op_series;
    if (options.modules != nullptr) {
      const auto calls = options.modules->find(loops[i].thread);
      if (calls != options.modules->end()) config.modules = calls->second;
    }
    if (options.devices != nullptr) {
      std::set<ThreadId> threads = launching[loops[i].process];
      threads.insert(loops[i].thread);
      config.devices.emplace(*options.devices, loops[i].thread, threads,
                             devices_of(recording, *options.devices, loops, process, threads));
    }
    if (options.observer) config.observer = options.observer(i);
    config.role = [&role, i](std::size_t step) { return role(i, step); };
    router.add(loops[i],
               std::make_unique<LoopSweeper>(loops[i], phases_of(recording, loops[i]),
                                             phases_of(recording, loops[i].thread), config));
  }
  return router;
}

}  // namespace

Result<std::vector<AttributedLoop>> attribute(const RecordedRun& recording,
                                              const std::vector<Loop>& loops,
                                              const RoleOfStep& role,
                                              const AttributeOptions& options) {
  const Router router = make_router(recording, loops, role, options);
  OpClasses classes(recording.text);
  const std::size_t window = options.reorder_window / std::max<std::size_t>(loops.size(), 1);
  std::int64_t seen = 0;
  const auto feed = [&](LoopSweeper& sweeper, const Op& op, OpClass kind) {
    sweeper.add(op, kind);
    if (sweeper.buffered() > window) sweeper.shrink(window / 2);
  };
  const Status read = recording.for_each_op([&](const Op& op) {
    if (++seen % kProgressEvery == 0 && options.progress) options.progress(seen);
    const OpClass kind = classes.of(op);
    if (options.on_op) options.on_op(op, seen, kind);
    if (LoopSweeper* const own = router.own(op.thread); own != nullptr) {
      feed(*own, op, kind);
      return true;
    }
    const bool helps = is_backward(op) || kind == OpClass::kCommunication;
    for (LoopSweeper* sweeper : router.around(op.thread)) {
      if (helps || sweeper->watches(op.thread)) feed(*sweeper, op, kind);
    }
    return true;
  });
  if (!read.ok()) return read;

  std::vector<AttributedLoop> result;
  for (const auto& sweeper : router.sweepers()) result.push_back(sweeper->finish());
  return result;
}

}  // namespace stepscope

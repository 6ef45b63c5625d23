#include "analyzer/analyze.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analyzer/advise/advise.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/attribute/priority_breakdown.h"
#include "analyzer/correlate/call_ops.h"
#include "analyzer/counters/counters.h"
#include "analyzer/device/device_facts.h"
#include "analyzer/lines/find_lines.h"
#include "analyzer/lines/last_lines.h"
#include "analyzer/lines/native_code.h"
#include "analyzer/loop_report.h"
#include "analyzer/modules/find_modules.h"
#include "analyzer/run_sweep.h"
#include "analyzer/starved/schedule.h"
#include "analyzer/steps/find_loops.h"
#include "analyzer/steps/infer_input.h"
#include "analyzer/steps/infer_steps.h"
#include "analyzer/steps/segments.h"
#include "analyzer/verdict/deaths.h"
#include "analyzer/verdict/ranks.h"

namespace stepscope {
namespace {

NoSteps markers_seen(const RecordedRun& recording) {
  return {!recording.phases.empty(),
          std::count_if(recording.phases.begin(), recording.phases.end(),
                        [](const Phase& p) { return p.kind == PhaseKind::kBackward; })};
}

std::int64_t step_time_of(const LoopReport& report) {
  return std::accumulate(report.steps.begin(), report.steps.end(), std::int64_t{0},
                         [](std::int64_t sum, const Step& step) { return sum + to_ns(step.dur); });
}

void add_processes(const RecordedRun& recording, const Counters& counters,
                   const StackHistory& stacks, AnalysisReport& report) {
  report.processes = describe_processes(recording, counters, report.loops);
  add_last_lines(recording, stacks, report.processes);
  report.deaths = order_of_deaths(report.processes);
  for (LoopReport& loop : report.loops) {
    for (const ProcessReport& process : report.processes) {
      if (process.id != loop.process || !process.died) continue;
      loop.death = process;
      loop.verdict.evidence.push_back({EvidenceKind::kDeath, static_cast<double>(process.end->code),
                                       "count",
                                       "SELECT * FROM run_end WHERE process_id = " +
                                           std::to_string(static_cast<std::uint32_t>(process.id))});
    }
  }
  report.processes_left_out =
      static_cast<std::int64_t>(recording.processes.size() - report.processes.size());
}

Status no_such_steps(const StepSpan& window, const std::vector<Loop>& loops) {
  std::int64_t first = loops.front().first_number, last = 0;
  for (const Loop& loop : loops) {
    first = std::min(first, loop.first_number);
    last = std::max(last, loop.first_number + static_cast<std::int64_t>(loop.steps.size()) - 1);
  }
  return Status::error(ErrorKind::kUsage, "steps " + std::to_string(window.first) + "-" +
                                              std::to_string(window.last) + ": the run has steps " +
                                              std::to_string(first) + "-" + std::to_string(last));
}

// The loops and their steps, found by marks or inferred from ops.
Result<std::vector<Loop>> loops_of(const RecordedRun& recording) {
  std::vector<Loop> loops = find_loops(training_phases(recording), recording.threads);
  if (Status status = infer_input(recording, loops); !status.ok()) return status;
  if (Status status = infer_steps(recording, loops); !status.ok()) return status;
  for (Loop& loop : loops) {
    if (loop.marker == StepMarker::kUser)
      loop.first_number = first_number(phases_of(recording, loop.thread), recording.text);
  }
  find_segments(recording, loops);
  return loops;
}

// Keeps the kMaxLoops loops that last longest, in their order. Returns how many were dropped.
std::int64_t keep_longest(std::vector<Loop>& loops) {
  if (loops.size() <= kMaxLoops) return 0;
  const auto length = [](const Loop& loop) {
    Duration sum{0};
    for (const TimeRange step : loop.steps) sum += step.length();
    return sum;
  };
  std::vector<Duration> lengths;
  for (const Loop& loop : loops) lengths.push_back(length(loop));
  std::nth_element(lengths.begin(), lengths.begin() + kMaxLoops - 1, lengths.end(),
                   std::greater<>());
  const Duration least = lengths[kMaxLoops - 1];
  auto equal = static_cast<std::int64_t>(kMaxLoops);
  for (std::size_t i = 0; i < kMaxLoops; ++i) equal -= lengths[i] > least ? 1 : 0;
  const std::size_t before = loops.size();
  std::erase_if(loops, [&](const Loop& loop) {
    const Duration own = length(loop);
    return own < least || (own == least && equal-- <= 0);
  });
  return static_cast<std::int64_t>(before - loops.size());
}

// The thread whose ops take the most time, as a loop with one step that covers all of them. Nothing
// if there are no ops.
Result<std::optional<Loop>> whole_recording(const RecordedRun& recording) {
  struct Extent {
    SessionTime first = SessionTime::max(), last = SessionTime::min();
    Duration self{0};
  };
  std::map<ThreadId, Extent> threads;
  const Status read = recording.for_each_op([&](const Op& op) {
    Extent& extent = threads[op.thread];
    extent.first = std::min(extent.first, op.start);
    extent.last = std::max(extent.last, op.start + op.dur);
    extent.self += op.self;
    return true;
  });
  if (!read.ok()) return read;
  const auto most =
      std::max_element(threads.begin(), threads.end(),
                       [](const auto& a, const auto& b) { return a.second.self < b.second.self; });
  if (most == threads.end() || most->second.first >= most->second.last)
    return std::optional<Loop>();
  Loop loop;
  loop.thread = most->first;
  for (const StoredThread& thread : recording.threads) {
    if (thread.id == loop.thread) loop.process = thread.process;
  }
  loop.trains = true;  // its unit is not a call
  loop.steps = {{most->second.first, most->second.last}};
  return std::optional(loop);
}

// For a run whose ops were not read, since it has no loops.
Result<CallOrigins> read_origins(const RecordedRun& recording, const DeviceWork& devices) {
  CallOps call_ops(recording, devices);
  OpClasses classes(recording.text);
  std::int64_t id = 0;
  const Status status = recording.for_each_op([&](const Op& op) {
    call_ops.add(op, ++id, classes.of(op));
    return true;
  });
  if (!status.ok()) return status;
  return call_ops.take();
}

// Adds what is known about device work, apart from the steps.
Result<DeviceUse> add_device_facts(const RecordedRun& recording, const DeviceWork& devices,
                                   CallOrigins&& origins, std::span<const AttributedLoop> loops,
                                   AnalysisReport& report) {
  const auto phase_of = [loops](std::uint32_t call) {
    for (const AttributedLoop& loop : loops) {
      if (call < loop.call_phases.size() && loop.call_phases[call] != PhaseKind::kNone)
        return loop.call_phases[call];
    }
    return PhaseKind::kNone;
  };
  auto use = collect_device_use(recording, devices, origins, phase_of);
  if (!use.ok()) return use.status();
  report.device_facts = std::exchange(use->facts, {});
  report.call_ops = std::move(origins.ops);
  return use;
}

// What is read from a recording before its ops.
struct Inputs {
  DeviceWork devices;
  Counters counters;
  StackHistory stacks;
  ModuleHistory modules;
  NativeSamples native;
};

Result<Inputs> read_inputs(const RecordedRun& recording) {
  auto devices = DeviceWork::read(recording);
  if (!devices.ok()) return devices.status();
  auto counters = read_counters(recording);
  if (!counters.ok()) return counters.status();
  auto stacks = StackHistory::read(recording);
  if (!stacks.ok()) return stacks.status();
  auto modules = ModuleHistory::read(recording);
  if (!modules.ok()) return modules.status();
  auto native = NativeSamples::read(recording);
  if (!native.ok()) return native.status();
  return Inputs{*std::move(devices), *std::move(counters), *std::move(stacks), *std::move(modules),
                *std::move(native)};
}

// Adds the reports of loops to the report of their run.
class LoopReporter {
 public:
  LoopReporter(const RecordedRun& recording, const StackHistory& stacks,
               const AnalyzeOptions& options, AnalysisReport& report)
      : stacks_(stacks), options_(options), report_(report), marks_(recording.phases) {}

  // Adds a report for each device that worked for the loop, or one for its thread.
  void add(const LoopFacts& facts, const OpFacts& op_facts, StepSample sample) {
    if (facts.attributed.late_ops > 0)
      report_.losses.push_back({facts.loop.thread, "late_op", facts.attributed.late_ops});
    std::shared_ptr<const Predictor> predictor;
    for (const Viewpoint from : viewpoints_of(facts.attributed)) {
      if (report_.loops.size() >= kMaxLoops) {  // counts a loop once per device
        ++report_.loops_left_out;
        continue;
      }
      auto loop_report = report_loop(facts, from, options_);
      if (loop_report.analysed.empty()) continue;
      loop_report.op_facts = op_facts;
      find_lines(facts.recording, facts.attributed.stretches, stacks_, loop_report);
      if (predictor == nullptr)
        predictor = make_predictor(loop_report, facts.attributed.split.get(), std::move(sample));
      add_advice(loop_report, facts.recording, facts.counters, marks_, predictor);
      if (options_.keep_predictor) loop_report.predictor = predictor;
      report_.loops.push_back(std::move(loop_report));
    }
  }

 private:
  const StackHistory& stacks_;
  const AnalyzeOptions& options_;
  AnalysisReport& report_;
  const ThreadMarks marks_;
};

// For a run without loops: reports what was seen and where the time of the recording went, without
// a verdict.
Status report_no_loops(const RecordedRun& recording, Inputs& inputs, AnalysisReport& report) {
  report.no_steps = markers_seen(recording);
  if (!recording.devices.empty()) {
    auto origins = read_origins(recording, inputs.devices);
    if (!origins.ok()) return origins.status();
    const auto added = add_device_facts(recording, inputs.devices, *std::move(origins), {}, report);
    if (!added.ok()) return added.status();
  }
  const auto whole = whole_recording(recording);
  if (!whole.ok()) return whole.status();
  if (!*whole) return {};
  const std::vector<Loop> loops = {**whole};
  AnalyzeOptions options;
  options.op_samples = false;
  auto swept =
      RunSweep(recording, inputs.devices, ModuleHistory(), loops, options).sweep(inputs.native);
  if (!swept.ok()) return swept.status();
  const auto schedule = read_schedule(recording, {loops.front().thread});
  if (!schedule.ok()) return schedule.status();
  report.whole = report_loop({recording, loops.front(), swept->loops.front(), 1, DeviceUse{},
                              inputs.counters, *schedule, inputs.native},
                             Viewpoint{}, options);
  return {};
}

Status report_loops(const RecordedRun& recording, const std::vector<Loop>& loops, Inputs& inputs,
                    const AnalyzeOptions& options, AnalysisReport& report) {
  RunSweep sweep(recording, inputs.devices, inputs.modules, loops, options);
  auto swept = sweep.sweep(inputs.native);
  if (!swept.ok()) return swept.status();
  const auto use =
      add_device_facts(recording, inputs.devices, std::move(swept->origins), swept->loops, report);
  if (!use.ok()) return use.status();
  report.priority_times = std::move(swept->older.steps);
  report.utilizations = std::move(swept->older.devices);
  std::set<ThreadId> loop_threads;
  for (const Loop& loop : loops) loop_threads.insert(loop.thread);
  const auto schedule = read_schedule(recording, loop_threads);
  if (!schedule.ok()) return schedule.status();

  LoopReporter reporter(recording, inputs.stacks, options, report);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    AttributedLoop& attributed = swept->loops[i];
    if (recording.facts.windowed && (recording.op_switches.empty() || recording.facts.ops_dropped))
      drop_partial_edges(attributed.steps);
    reporter.add({recording, loops[i], attributed, sweep.warm_up(i), *use, inputs.counters,
                  *schedule, inputs.native},
                 swept->facts[i], std::move(swept->samples[i]));
  }
  if (report.loops.empty()) return no_such_steps(*options.steps, loops);
  for (LoopReport& loop : report.loops) {
    if (Status status = find_modules(recording, loops, inputs.modules, loop); !status.ok())
      return status;
  }
  std::stable_sort(
      report.loops.begin(), report.loops.end(),
      [](const LoopReport& a, const LoopReport& b) { return step_time_of(a) > step_time_of(b); });
  report.ranks = compare_ranks(report.loops, options.steps);
  return {};
}

}  // namespace

Result<AnalysisReport> analyze(const RecordedRun& recording, const AnalyzeOptions& options) {
  AnalysisReport report;
  report.run = recording.facts;
  report.losses = recording.losses;
  report.op_count = recording.op_count;
  report.only = options.steps;

  auto inputs = read_inputs(recording);
  if (!inputs.ok()) return inputs.status();
  auto loops = loops_of(recording);
  if (!loops.ok()) return loops.status();
  report.loops_left_out = keep_longest(*loops);
  const Status status = loops->empty() ? report_no_loops(recording, *inputs, report)
                                       : report_loops(recording, *loops, *inputs, options, report);
  if (!status.ok()) return status;
  add_processes(recording, inputs->counters, inputs->stacks, report);
  return report;
}

}  // namespace stepscope

#include "analyzer/analyze.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "analyzer/advise/advise.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/attribute/priority_breakdown.h"
#include "analyzer/correlate/call_ops.h"
#include "analyzer/op_samples.h"
#include "analyzer/samples/counters.h"
#include "analyzer/simulate/device_tasks.h"
#include "analyzer/steps/find_loops.h"
#include "analyzer/steps/infer_input.h"
#include "analyzer/steps/infer_steps.h"
#include "analyzer/steps/warm_up.h"
#include "analyzer/verdict/deaths.h"
#include "analyzer/verdict/describe_populations.h"
#include "analyzer/verdict/drift.h"
#include "analyzer/verdict/judge.h"
#include "analyzer/verdict/memory_pressure.h"
#include "analyzer/verdict/ranks.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

std::size_t warm_up_of(const Loop& loop) {
  std::vector<Duration> times;
  for (const TimeRange step : loop.steps) times.push_back(step.length());
  return warm_up_steps(times);
}

bool is_asked_for(const AnalyzeOptions& options, const Loop& loop, std::size_t step) {
  const std::int64_t number = loop.first_number + static_cast<std::int64_t>(step);
  return !options.steps || (options.steps->first <= number && number <= options.steps->last);
}

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

std::string why_no_steps(const RecordedRun& recording) {
  if (recording.phases.empty() && recording.op_count == 0)
    return "nothing was recorded: no ops and no phases.";
  const auto backward =
      std::count_if(recording.phases.begin(), recording.phases.end(),
                    [](const Phase& p) { return p.kind == PhaseKind::kBackward; });
  std::string seen = plural(recording.op_count, "op");
  if (backward > 0) seen += " and " + plural(backward, "backward pass");
  const std::string no_cycle = recording.op_count > 0 ? ", and the ops do not repeat" : "";
  return "no training step was seen (" + seen + " recorded)" + no_cycle +
         ": call step(), wrap the loader with input(), or step an optimizer while "
         "recording.";
}

// An op recording that was switched on or off inside a step holds a part of it only. Such a step
// stands at an edge of a stretch of recorded steps and has far fewer ops than the others there.
void drop_partial_edges(std::vector<AttributedStep>& steps) {
  std::vector<std::int64_t> counts;
  for (const AttributedStep& step : steps) {
    if (step.ops_recorded) counts.push_back(step.op_count);
  }
  if (counts.size() < 3) return;
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2),
                   counts.end());
  const std::int64_t usual = counts[counts.size() / 2];
  std::vector<std::size_t> edges;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].ops_recorded || steps[i].op_count * 2 >= usual) continue;
    const bool first = i == 0 || !steps[i - 1].ops_recorded;
    const bool last = i + 1 == steps.size() || !steps[i + 1].ops_recorded;
    if (first || last) edges.push_back(i);
  }
  for (const std::size_t i : edges) steps[i].ops_recorded = false;
}

// What a loop's steps are told by: one of the loop's devices, or its thread.
struct Viewpoint {
  DeviceId device = DeviceId::kNone;  // kNone: the thread
  std::size_t index = 0;              // in AttributedLoop::devices
};

std::vector<StepTime> times_of(const AttributedStep& attributed, Viewpoint from,
                               const RecordedRun& recording) {
  const bool of_device = from.device != DeviceId::kNone;
  std::vector<StepTime> times;
  for (const Slice& slice :
       (of_device ? attributed.devices[from.index] : attributed.account).slices()) {
    times.push_back({slice.category, slice.phase, std::string(recording.text(slice.label)),
                     slice.exposed, slice.hidden, from.device});
  }
  return times;
}

Step make_step(const AttributedStep& attributed, const Loop& loop, std::size_t index, bool steady,
               Viewpoint from, const RecordedRun& recording) {
  Step step;
  step.number = loop.first_number + static_cast<std::int64_t>(index);
  step.thread = loop.thread;
  step.start = attributed.range.start;
  step.dur = attributed.range.length();
  step.marker = loop.marker;
  step.ops_recorded = attributed.ops_recorded;
  step.steady = steady;
  step.times = times_of(attributed, from, recording);
  return step;
}

// The steps that the verdict rests on: asked for; with ops when any of them has; steady when any
// is.
std::vector<std::size_t> choose_steps(const Loop& loop, const std::vector<Step>& steps,
                                      const AnalyzeOptions& options) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_asked_for(options, loop, i)) chosen.push_back(i);
  }
  const auto prefer = [&](bool Step::*quality) {
    std::vector<std::size_t> better;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(better),
                 [&](std::size_t i) { return steps[i].*quality; });
    if (!better.empty()) chosen = std::move(better);
  };
  prefer(&Step::ops_recorded);
  prefer(&Step::steady);
  return chosen;
}

std::vector<OpRow> op_rows(const OpTable& table, const RecordedRun& recording) {
  std::vector<OpRow> rows;
  for (const OpCost& cost : table.sorted()) {
    rows.push_back({std::string(recording.text(cost.name)),
                    phase_name(cost.phase),
                    cost.calls,
                    to_ns(cost.self),
                    to_ns(cost.launch),
                    {}});
  }
  return rows;
}

std::vector<KernelRow> kernel_rows(const KernelTable& table, const RecordedRun& recording) {
  std::vector<KernelRow> rows;
  for (const KernelCost& cost : table.sorted()) {
    rows.push_back({std::string(recording.text(cost.name)), phase_name(cost.phase), cost.calls,
                    to_ns(cost.total)});
  }
  return rows;
}

std::int64_t lost_events(const std::vector<Loss>& losses) {
  return std::accumulate(losses.begin(), losses.end(), std::int64_t{0},
                         [](std::int64_t sum, const Loss& loss) { return sum + loss.count; });
}

void name_thread(LoopReport& report, const RecordedRun& recording, ThreadId id) {
  for (const StoredThread& thread : recording.threads) {
    if (thread.id != id) continue;
    report.tid = thread.tid;
    report.thread_name = thread.name;
    for (const StoredProcess& process : recording.processes) {
      if (process.id != thread.process) continue;
      report.process = process.id;
      report.pid = process.pid;
      report.rank = process.rank;
    }
  }
}

void name_device(LoopReport& report, const RecordedRun& recording, DeviceId id) {
  report.device = id;
  for (const StoredDevice& device : recording.devices) {
    if (device.id != id) continue;
    report.device_number = device.number;
    report.device_name = device.name;
  }
}

LoopReport report_loop(const RecordedRun& recording, const Loop& loop,
                       const AttributedLoop& attributed, Viewpoint from, std::size_t warm_up,
                       const Counters& counters, const AnalyzeOptions& options) {
  LoopReport report;
  name_thread(report, recording, loop.thread);
  name_device(report, recording, from.device);
  report.marker = loop.marker;
  report.by_sampler = loop.by_sampler;
  report.trains = loop.trains;
  report.warm_up = static_cast<std::int64_t>(warm_up);
  report.late_ops = attributed.late_ops;
  std::vector<Step> on_host;  // the loop thread's own phases, whatever the device did
  for (std::size_t i = 0; i < attributed.steps.size(); ++i) {
    const AttributedStep& step = attributed.steps[i];
    report.steps.push_back(make_step(step, loop, i, i >= warm_up, from, recording));
    on_host.push_back(make_step(step, loop, i, i >= warm_up, {}, recording));
  }
  report.analysed = choose_steps(loop, report.steps, options);
  if (report.analysed.empty()) return report;

  const auto phases = phases_of(recording, loop);
  const Step& first = report.steps[report.analysed.front()];
  report.ops_recorded = first.ops_recorded;
  report.wall = wall_stats(report.steps, report.analysed);
  report.shares = exposed_shares(report.steps, report.analysed);
  report.hidden = hidden_shares(report.steps, report.analysed);
  report.phases = phase_means(on_host, report.analysed);
  for (std::size_t i = 0; i < report.analysed.size() && options.op_samples; ++i)
    report.step_phases.push_back(phase_means(on_host, {report.analysed[i]}));
  report.lacks_loader = lacks_loader(recording, loop);
  report.input = loop.input.begins.empty()
                     ? input_use(phases, report.steps, report.analysed, recording.text)
                     : inferred_use(loop.input, report.steps, report.analysed);
  const OpTable& op_table = first.steady ? attributed.steady_ops : attributed.warm_up_ops;
  report.ops = op_rows(op_table, recording);
  if (from.device != DeviceId::kNone) {
    const auto& tables = first.steady ? attributed.steady_kernels : attributed.warm_up_kernels;
    if (from.index < tables.size()) report.kernels = kernel_rows(tables[from.index], recording);
  }
  add_op_samples(report, op_table.sorted(), attributed.op_blocks);
  report.populations = describe_populations(report.steps, report.analysed);
  report.drift = find_drift(report);
  report.memory = measure_memory_pressure(report, counters);
  report.verdict.thread = loop.thread;
  report.verdict.device = from.device;
  judge(report, recording.op_count, lost_events(recording.losses));
  return report;
}

std::vector<Viewpoint> viewpoints_of(const AttributedLoop& loop) {
  if (loop.devices.empty()) return {Viewpoint{}};
  std::vector<Viewpoint> views;
  for (std::size_t i = 0; i < loop.devices.size(); ++i) views.push_back({loop.devices[i], i});
  return views;
}

std::int64_t step_time_of(const LoopReport& report) {
  return std::accumulate(report.steps.begin(), report.steps.end(), std::int64_t{0},
                         [](std::int64_t sum, const Step& step) { return sum + to_ns(step.dur); });
}

void add_processes(const RecordedRun& recording, const Counters& counters, AnalysisReport& report) {
  report.processes = describe_processes(recording, counters, report.loops);
  report.deaths = death_sentences(report.processes);
  for (const std::string& death : report.deaths) {
    if (report.loops.empty()) report.no_steps += " " + death;
  }
  for (LoopReport& loop : report.loops) {
    for (const ProcessReport& process : report.processes) {
      if (process.id != loop.process || process.sentence.empty()) continue;
      loop.verdict.evidence.push_back({process.sentence, static_cast<double>(process.end->code),
                                       "count",
                                       "SELECT * FROM run_end WHERE process_id = " +
                                           std::to_string(static_cast<std::uint32_t>(process.id))});
    }
  }
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

}  // namespace

Result<AnalysisReport> analyze(const RecordedRun& recording, const AnalyzeOptions& options) {
  AnalysisReport report;
  report.run = recording.facts;
  report.losses = recording.losses;
  report.op_count = recording.op_count;
  report.only = options.steps;

  const auto device_work = DeviceWork::read(recording);
  if (!device_work.ok()) return device_work.status();
  const auto counters = read_counters(recording);
  if (!counters.ok()) return counters.status();
  std::vector<Loop> loops = find_loops(recording.phases, recording.threads);
  if (Status status = infer_input(recording, loops); !status.ok()) return status;
  if (Status status = infer_steps(recording, loops); !status.ok()) return status;
  for (Loop& loop : loops) {
    if (loop.marker == StepMarker::kUser)
      loop.first_number = first_number(phases_of(recording, loop.thread), recording.text);
  }
  std::vector<std::size_t> warm_up;
  for (const Loop& loop : loops) warm_up.push_back(warm_up_of(loop));
  if (loops.empty()) {
    report.no_steps = why_no_steps(recording);
    add_processes(recording, *counters, report);
    return report;
  }
  const auto role = [&](std::size_t loop, std::size_t step) {
    if (!is_asked_for(options, loops[loop], step)) return StepRole::kLeftOut;
    return step < warm_up[loop] ? StepRole::kWarmUp : StepRole::kSteady;
  };
  AttributeOptions attribute_options;
  attribute_options.devices = &*device_work;
  attribute_options.progress = options.progress;
  attribute_options.op_series = options.op_samples;
  CallOps call_ops(*device_work);
  BusyThreads busy;
  if (!recording.devices.empty()) {
    attribute_options.observe = [&](const Op& op, std::int64_t id, OpClass kind) {
      call_ops.add(op, id, kind);
      busy.add(op, kind);
    };
  }
  const bool only_with_ops = recording.facts.windowed && recording.op_count > 0;
  std::vector<StepSampler> samplers;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto eligible = [&, i](std::size_t step, bool ops_recorded) {
      return role(i, step) != StepRole::kLeftOut && (ops_recorded || !only_with_ops);
    };
    samplers.emplace_back(eligible, StepSampler::kMostTasks / loops.size());
  }
  attribute_options.observer = [&samplers](std::size_t loop) { return &samplers[loop]; };
  auto attributed = attribute(recording, loops, role, attribute_options);
  if (!attributed.ok()) return attributed.status();

  std::vector<StepSample> samples;
  for (StepSampler& sampler : samplers) samples.push_back(sampler.finish());
  if (Status status = add_device_tasks(recording, loops, samples); !status.ok()) return status;
  PriorityBreakdown older = priority_breakdown(recording, *device_work, loops, busy);
  report.priority_times = std::move(older.steps);
  report.utilizations = std::move(older.devices);
  report.call_ops = call_ops.take();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    AttributedLoop& loop = (*attributed)[i];
    if (recording.facts.windowed) drop_partial_edges(loop.steps);
    if (loop.late_ops > 0) report.losses.push_back({loops[i].thread, "late_op", loop.late_ops});
    std::shared_ptr<const Predictor> predictor;
    for (const Viewpoint from : viewpoints_of(loop)) {
      auto told = report_loop(recording, loops[i], loop, from, warm_up[i], *counters, options);
      if (told.analysed.empty()) continue;
      if (predictor == nullptr) predictor = make_predictor(told, std::move(samples[i]));
      add_advice(told, recording, *counters, predictor);
      if (options.keep_predictor) told.predictor = predictor;
      report.loops.push_back(std::move(told));
    }
  }
  if (report.loops.empty()) return no_such_steps(*options.steps, loops);
  std::stable_sort(
      report.loops.begin(), report.loops.end(),
      [](const LoopReport& a, const LoopReport& b) { return step_time_of(a) > step_time_of(b); });
  report.ranks = compare_ranks(report.loops);
  add_processes(recording, *counters, report);
  return report;
}

namespace {

// A loop with several devices has its steps in each report, with the times of that device.
void add_steps(const std::vector<Step>& steps, std::vector<Step>& all) {
  const auto known = std::find_if(all.begin(), all.end(), [&](const Step& step) {
    return !steps.empty() && step.thread == steps.front().thread;
  });
  if (known == all.end()) {
    all.insert(all.end(), steps.begin(), steps.end());
    return;
  }
  auto same = known;
  for (const Step& step : steps) {
    same->times.insert(same->times.end(), step.times.begin(), step.times.end());
    same->kinds.insert(same->kinds.end(), step.kinds.begin(), step.kinds.end());
    ++same;
  }
}

}  // namespace

Analysis to_analysis(const AnalysisReport& report) {
  Analysis analysis;
  for (const LoopReport& loop : report.loops) {
    add_steps(loop.steps, analysis.steps);
    analysis.verdicts.push_back(loop.verdict);
  }
  analysis.call_ops = report.call_ops;
  analysis.priority_times = report.priority_times;
  analysis.utilizations = report.utilizations;
  if (!report.loops.empty()) return analysis;
  Verdict none;
  none.kind = "no-steps";
  none.confidence = "high";
  none.sentence = report.no_steps;
  analysis.verdicts.push_back(none);
  return analysis;
}

}  // namespace stepscope

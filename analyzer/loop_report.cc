#include "analyzer/loop_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/balance_steps.h"
#include "analyzer/device/tensor_cores.h"
#include "analyzer/negligible_cost.h"
#include "analyzer/op_samples.h"
#include "analyzer/ops/op_class.h"
#include "analyzer/starved/measure_starvation.h"
#include "analyzer/steps/infer_input.h"
#include "analyzer/steps/stopped_steps.h"
#include "analyzer/verdict/describe_populations.h"
#include "analyzer/verdict/drift.h"
#include "analyzer/verdict/judge.h"
#include "analyzer/verdict/memory_pressure.h"
#include "analyzer/verdict/run_use.h"
#include "analyzer/verdict/summary.h"
#include "store/loss_kinds.h"

namespace stepscope {
namespace {

std::vector<StepTime> times_of(const AttributedStep& attributed, Viewpoint from,
                               const RecordedRun& recording) {
  const bool of_device = from.device != DeviceId::kNone;
  std::vector<StepTime> times;
  for (const Slice& slice :
       (of_device ? attributed.devices[from.index] : attributed.account).slices()) {
    const std::string_view label = recording.text(slice.label);
    const bool computes =
        !of_device && slice.category == Category::kOther && is_runtime_call(label);
    times.push_back({computes ? Category::kCompute : slice.category, slice.phase,
                     std::string(label), slice.exposed, slice.hidden, from.device});
  }
  return times;
}

Step make_step(const AttributedStep& attributed, const Loop& loop, std::size_t index, bool steady,
               Viewpoint from, const RecordedRun& recording) {
  Step step;
  step.number = loop.first_number + static_cast<std::int64_t>(index);
  step.thread = loop.thread;
  step.start = attributed.range.start;
  step.dur = attributed.range.length() - attributed.paused;
  step.paused = attributed.paused;
  step.marker = loop.marker;
  step.ops_recorded = attributed.ops_recorded;
  step.steady = steady;
  step.times = times_of(attributed, from, recording);
  return step;
}

// This many steps without ops are enough for a report.
constexpr std::size_t kEnoughPlainSteps = 10;

// Chooses the steps that a report is based on.
class StepChoice {
 public:
  StepChoice(const Loop& loop, const AttributedLoop& attributed, const std::vector<Step>& steps,
             const AnalyzeOptions& options)
      : attributed_(attributed), steps_(steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (is_asked_for(options, loop, i)) asked_.push_back(i);
    }
  }

  // The requested steps; only those with ops if any have ops, and only steady ones if any are
  // steady.
  [[nodiscard]] std::vector<std::size_t> with_ops() const {
    return prefer(prefer(asked_, [this](std::size_t i) { return steps_[i].ops_recorded; }),
                  [this](std::size_t i) { return steps_[i].steady; });
  }
  // The requested steps that are steady and have no ops; may be empty. Switching the hooks between
  // two steps makes one of them longer, so if there are enough others, neither counts.
  [[nodiscard]] std::vector<std::size_t> plain() const {
    std::vector<std::size_t> all, inner;
    for (const std::size_t i : asked_) {
      if (!steps_[i].steady || !is_plain(i)) continue;
      all.push_back(i);
      const bool is_inner =
          (i == 0 || is_plain(i - 1)) && (i + 1 == steps_.size() || is_plain(i + 1));
      if (is_inner) inner.push_back(i);
    }
    return inner.size() >= kEnoughPlainSteps ? inner : all;
  }
  // The requested steps that are steady, with and without ops.
  [[nodiscard]] std::vector<std::size_t> steady() const {
    std::vector<std::size_t> all;
    std::ranges::copy_if(asked_, std::back_inserter(all),
                         [this](std::size_t i) { return steps_[i].steady; });
    return all;
  }
  // Adds the requested steady steps that are far longer than each of `chosen`. Recording ops does
  // not make a step that long, and what does would otherwise be seen or not by chance.
  void add_far_longer(std::vector<std::size_t>& chosen) const {
    Duration longest{0};
    for (const std::size_t i : chosen) longest = std::max(longest, steps_[i].dur);
    const std::set<std::size_t> known(chosen.begin(), chosen.end());
    for (const std::size_t i : asked_) {
      const bool far_longer = steps_[i].steady && steps_[i].dur > kFarLonger * longest;
      if (far_longer && !known.contains(i)) chosen.push_back(i);
    }
    std::sort(chosen.begin(), chosen.end());
  }

 private:
  [[nodiscard]] bool is_plain(std::size_t i) const { return attributed_.steps[i].is_plain(); }
  template <typename Quality>
  static std::vector<std::size_t> prefer(const std::vector<std::size_t>& chosen, Quality quality) {
    std::vector<std::size_t> better;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(better), quality);
    return better.empty() ? chosen : better;
  }

  const AttributedLoop& attributed_;
  const std::vector<Step>& steps_;
  std::vector<std::size_t> asked_;
};

std::vector<double> times_of(const std::vector<Step>& steps) {
  std::vector<double> times;
  for (const Step& step : steps) times.push_back(static_cast<double>(to_ns(step.dur)));
  return times;
}

std::vector<double> times_of(const std::vector<Step>& steps,
                             const std::vector<std::size_t>& chosen) {
  std::vector<double> times;
  for (const std::size_t i : chosen) times.push_back(static_cast<double>(to_ns(steps[i].dur)));
  return times;
}

// Fills analysed, op_steps and recording. Device work is known only in the steps with ops.
void choose_steps(const AttributedLoop& attributed, const StepChoice& choice, bool infers_input,
                  LoopReport& report) {
  report.op_steps = choice.with_ops();
  report.analysed = report.op_steps;
  if (attributed.split == nullptr || report.steps.empty()) return;
  RecordingCost& cost = report.recording;
  cost.ops = attributed.split->cost();
  const auto op_steps = std::count_if(report.steps.begin(), report.steps.end(),
                                      [](const Step& step) { return step.ops_recorded; });
  cost.op_step_share = static_cast<double>(op_steps) / static_cast<double>(report.steps.size());
  const Step& last = report.steps.back();
  const auto all_ns = static_cast<double>(to_ns(last.end() - report.steps.front().start));
  cost.run_share = all_ns > 0 ? static_cast<double>(op_steps) * cost.ops.per_step_ns / all_ns : 0;
  if (report.device != DeviceId::kNone) return;
  std::vector<std::size_t> plain = choice.plain();
  if (plain.size() < kEnoughPlainSteps && plain.size() < report.op_steps.size()) return;
  std::vector<std::size_t> all;
  std::merge(plain.begin(), plain.end(), report.op_steps.begin(), report.op_steps.end(),
             std::back_inserter(all));
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](std::size_t i) { return !report.steps[i].steady; });
  const bool negligible = cost.ops.share() < kNegligibleCost ||
                          is_negligible(cost.ops.per_step_ns, times_of(report.steps, plain),
                                        times_of(report.steps, all));
  cost.removed = !negligible;
  // Inferred waits are known step by step in steps with ops, and only on average in others.
  const bool only_with_ops = negligible && infers_input;
  plain = negligible ? std::move(all)
                     : balanced_steps(times_of(report.steps), plain, choice.steady(),
                                      cost.ops.per_step_ns);
  if (!only_with_ops && !plain.empty()) report.analysed = std::move(plain);
  if (!report.analysed.empty()) choice.add_far_longer(report.analysed);
}

// `merged`: how many names kFurtherNames stands for.
std::string row_name(StringId name, std::int64_t merged, const RecordedRun& recording) {
  if (name != kFurtherNames) return std::string(recording.text(name));
  return "(" + std::to_string(merged) + " further names)";
}

// By self time, the largest first. `split`: takes the cost of recording out of the times; null:
// they stay as recorded.
std::vector<OpCost> op_costs(const OpTable& table, const PhaseSplit* split) {
  std::vector<OpCost> costs = table.sorted();
  if (split == nullptr) return costs;
  for (OpCost& cost : costs) {
    const double net = split->net_share(Category::kCompute, cost.phase);
    const auto work = static_cast<double>(to_ns(cost.self - cost.launch));
    cost.self = cost.launch + Duration(std::llround(net * work));
  }
  std::ranges::stable_sort(costs, std::greater{}, &OpCost::self);
  return costs;
}

std::vector<OpRow> op_rows(const std::vector<OpCost>& costs, std::int64_t merged,
                           const RecordedRun& recording) {
  std::vector<OpRow> rows;
  for (const OpCost& cost : costs) {
    rows.push_back({row_name(cost.name, merged, recording),
                    phase_name(cost.phase),
                    cost.calls,
                    to_ns(cost.self),
                    to_ns(cost.launch),
                    {}});
  }
  return rows;
}

std::vector<KernelRow> kernel_rows(const std::vector<KernelCost>& costs, std::int64_t merged,
                                   DeviceId device, const DeviceUse& use,
                                   const RecordedRun& recording) {
  std::vector<KernelRow> rows;
  for (const KernelCost& cost : costs) {
    KernelRow& row = rows.emplace_back();
    row.name = row_name(cost.name, merged, recording);
    row.phase = phase_name(cost.phase);
    row.calls = cost.calls;
    row.total_ns = to_ns(cost.total);
    row.tensor_cores = uses_tensor_cores(row.name);
    const auto known = use.occupancy.find({device, cost.name});
    if (known != use.occupancy.end()) row.occupancy = known->second;
  }
  return rows;
}

// A copy counts wholly in the step in which it began, as a kernel does.
std::vector<CopyRow> copy_rows(const LoopReport& report, const DeviceUse& use,
                               const RecordedRun& recording) {
  const auto copies = use.copies.find(report.device);
  if (copies == use.copies.end()) return {};
  std::map<StreamId, std::int64_t> numbers;
  for (const StoredStream& stream : recording.streams) numbers[stream.id] = stream.number;
  std::map<std::tuple<StreamId, CopyKind, MemoryKind, MemoryKind>, CopyRow> rows;
  for (const CopyUse& copy : copies->second) {
    if (!in_analysed_step(report, copy.start)) continue;
    CopyRow& row = rows[{copy.stream, copy.kind, copy.source, copy.target}];
    row.kind = copy.kind;
    row.source = copy.source;
    row.target = copy.target;
    row.stream = numbers[copy.stream];
    ++row.calls;
    row.bytes += copy.bytes;
    row.total_ns += to_ns(copy.dur);
    row.kernel_ns += to_ns(copy.kernel);
  }
  std::vector<CopyRow> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CopyRow& a, const CopyRow& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

// The number of kernel names that occur in the warm-up but in no later step.
std::optional<std::int64_t> tried_kernels(const LoopReport& report,
                                          const AttributedLoop& attributed, std::size_t device) {
  if (report.steps.front().number != 1 || device >= attributed.warm_up_kernels.size() ||
      device >= attributed.steady_kernels.size())
    return std::nullopt;
  std::set<StringId> later;
  for (const KernelCost& cost : attributed.steady_kernels[device].sorted()) later.insert(cost.name);
  const auto first = attributed.warm_up_kernels[device].sorted();
  if (first.empty() || later.empty()) return std::nullopt;
  return std::count_if(first.begin(), first.end(),
                       [&](const KernelCost& cost) { return !later.contains(cost.name); });
}

void add_device_rows(LoopReport& report, const AttributedLoop& attributed, std::size_t device,
                     bool steady, const DeviceUse& use, const RecordedRun& recording) {
  const auto& tables = steady ? attributed.steady_kernels : attributed.warm_up_kernels;
  if (device < tables.size()) {
    const auto costs = tables[device].sorted();
    report.kernels = kernel_rows(costs, attributed.merged_kernels, report.device, use, recording);
    if (device < attributed.kernel_blocks.size())
      add_kernel_samples(report, costs, attributed.kernel_blocks[device]);
  }
  report.copies = copy_rows(report, use, recording);
  report.tried_kernels = tried_kernels(report, attributed, device);
}

std::vector<Phase> lengths_of_thread(const RecordedRun& recording, ThreadId thread) {
  std::vector<Phase> marks;
  std::copy_if(recording.lengths.begin(), recording.lengths.end(), std::back_inserter(marks),
               [thread](const Phase& mark) { return mark.thread == thread; });
  return marks;
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

}  // namespace

std::vector<Viewpoint> viewpoints_of(const AttributedLoop& loop) {
  if (loop.devices.empty()) return {Viewpoint{}};
  std::vector<Viewpoint> views;
  for (std::size_t i = 0; i < loop.devices.size(); ++i) views.push_back({loop.devices[i], i});
  return views;
}

bool is_asked_for(const AnalyzeOptions& options, const Loop& loop, std::size_t step) {
  const std::int64_t number = loop.first_number + static_cast<std::int64_t>(step);
  return !options.steps || (options.steps->first <= number && number <= options.steps->last);
}

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

namespace {

// The times in which marks of a thread are missing.
class LostMarks {
 public:
  LostMarks(const RecordedRun& recording, ThreadId thread) {
    for (const Phase& lost : recording.lost_times) {  // by start
      if (lost.thread != thread) continue;
      if (times_.empty() || lost.start > times_.back().end)
        times_.push_back({lost.start, lost.start});
      times_.back().end = std::max(times_.back().end, end_of(lost));
    }
  }

  // Whether some are missing in `step`. Ask in the order of the steps.
  bool in(TimeRange step) {
    while (next_ < times_.size() && times_[next_].end <= step.start) ++next_;
    return next_ < times_.size() && times_[next_].start < step.end;
  }

 private:
  std::vector<TimeRange> times_;  // apart, in order
  std::size_t next_ = 0;
};

}  // namespace

LoopReport report_loop(const LoopFacts& facts, Viewpoint from, const AnalyzeOptions& options) {
  const RecordedRun& recording = facts.recording;
  const Loop& loop = facts.loop;
  const AttributedLoop& attributed = facts.attributed;
  const std::size_t warm_up = facts.warm_up;
  LoopReport report;
  name_thread(report, recording, loop.thread);
  name_device(report, recording, from.device);
  report.marker = loop.marker;
  report.by_sampler = loop.by_sampler;
  report.batches_per_step = loop.batches_per_step;
  report.trains = loop.trains;
  report.segments = loop.segments;
  report.warm_up = static_cast<std::int64_t>(warm_up);
  report.late_ops = attributed.late_ops;
  // Phases are those of the loop thread, whatever a device did.
  const bool of_device = from.device != DeviceId::kNone;
  std::vector<Step> thread_steps;
  LostMarks lost_marks(recording, loop.thread);
  const StoppedSteps stops(recording, facts.counters, loop);
  for (std::size_t i = 0; i < attributed.steps.size(); ++i) {
    const AttributedStep& step = attributed.steps[i];
    const bool misses_marks = lost_marks.in(step.range);
    const bool stopped = stops.contains(step.range);
    const bool steady = i >= warm_up && !misses_marks && !stopped;
    if (i >= warm_up && misses_marks) ++report.with_lost_marks;
    if (i >= warm_up && stopped && !misses_marks) ++report.with_stops;
    report.steps.push_back(make_step(step, loop, i, steady, from, recording));
    if (of_device) thread_steps.push_back(make_step(step, loop, i, steady, {}, recording));
  }
  const std::vector<Step>& on_host = of_device ? thread_steps : report.steps;
  const auto phases = phases_of(recording, loop);
  const NativeTime native_time(facts.native, phases, facts.schedule.stretches_of(loop.thread),
                               report);
  if (attributed.devices.empty()) native_time.split_host_time(report.steps);
  choose_steps(attributed, StepChoice(loop, attributed, report.steps, options),
               !loop.input.begins.empty(), report);
  if (report.analysed.empty()) return report;

  report.padding = padding_use(lengths_of(lengths_of_thread(recording, loop.thread), report.steps,
                                          report.analysed, recording.text));
  if (attributed.devices.empty()) report.native = native_time.shares(report);
  report.native_unknown = !recording.facts.sampling.native_note.empty();
  const Step& first = report.steps[report.op_steps.front()];
  report.ops_recorded = first.ops_recorded;
  const PhaseSplit* const split = report.recording.removed ? attributed.split.get() : nullptr;
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
  report.scopes = scope_rows(phases, report.steps, report.analysed, recording.text);
  const OpTable& op_table = first.steady ? attributed.steady_ops : attributed.warm_up_ops;
  const std::vector<OpCost> costs = op_costs(op_table, split);
  report.ops = op_rows(costs, attributed.merged_ops, recording);
  report.merged_ops = attributed.merged_ops;
  report.merged_kernels = of_device ? attributed.merged_kernels : 0;
  if (of_device)
    add_device_rows(report, attributed, from.index, first.steady, facts.use, recording);
  add_op_samples(report, costs, attributed.op_blocks);
  report.populations = describe_populations(report.steps, report.analysed);
  report.drift = find_drift(report);
  report.run_use = measure_run_use(on_host, report.segments, recording.facts.duration_ns);
  report.memory = measure_memory_pressure(report, facts.counters);
  report.verdict.thread = loop.thread;
  measure_starvation(report, attributed.stretches, facts.schedule, facts.counters, recording);
  report.verdict.device = from.device;
  judge(report, {recording.op_count, lost_events(recording.losses), recording.facts.is_incomplete(),
                 lost_of_devices(recording.losses) > 0});
  return report;
}

}  // namespace stepscope

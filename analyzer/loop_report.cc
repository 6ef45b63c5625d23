#include "analyzer/loop_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/device/tensor_cores.h"
#include "analyzer/op_samples.h"
#include "analyzer/steps/infer_input.h"
#include "analyzer/verdict/describe_populations.h"
#include "analyzer/verdict/drift.h"
#include "analyzer/verdict/judge.h"
#include "analyzer/verdict/memory_pressure.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

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
  const auto prefer = [&](bool Step::* quality) {
    std::vector<std::size_t> better;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(better),
                 [&](std::size_t i) { return steps[i].*quality; });
    if (!better.empty()) chosen = std::move(better);
  };
  prefer(&Step::ops_recorded);
  prefer(&Step::steady);
  return chosen;
}

// `merged`: how many names kFurtherNames stands for.
std::string row_name(StringId name, std::int64_t merged, const RecordedRun& recording) {
  if (name != kFurtherNames) return std::string(recording.text(name));
  return "(" + std::to_string(merged) + " further names)";
}

std::vector<OpRow> op_rows(const OpTable& table, std::int64_t merged,
                           const RecordedRun& recording) {
  std::vector<OpRow> rows;
  for (const OpCost& cost : table.sorted()) {
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

// The step of `report` that `time` lies in, when it is one of the analysed.
bool in_analysed_step(const LoopReport& report, SessionTime time) {
  const auto after = std::partition_point(report.steps.begin(), report.steps.end(),
                                          [time](const Step& step) { return step.start <= time; });
  if (after == report.steps.begin()) return false;
  const auto index = static_cast<std::size_t>(after - report.steps.begin()) - 1;
  return time < report.steps[index].start + report.steps[index].dur &&
         std::binary_search(report.analysed.begin(), report.analysed.end(), index);
}

// A copy counts as a whole in the step that it began in, as a kernel does.
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

// Kernels of the warm-up by name, of those in no later step.
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

std::int64_t lost_events(const std::vector<Loss>& losses) {
  return std::accumulate(losses.begin(), losses.end(), std::int64_t{0},
                         [](std::int64_t sum, const Loss& loss) { return sum + loss.count; });
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

LoopReport report_loop(const RecordedRun& recording, const Loop& loop,
                       const AttributedLoop& attributed, const DeviceUse& use, Viewpoint from,
                       std::size_t warm_up, const Counters& counters,
                       const AnalyzeOptions& options) {
  LoopReport report;
  name_thread(report, recording, loop.thread);
  name_device(report, recording, from.device);
  report.marker = loop.marker;
  report.by_sampler = loop.by_sampler;
  report.trains = loop.trains;
  report.warm_up = static_cast<std::int64_t>(warm_up);
  report.late_ops = attributed.late_ops;
  // Phases are the loop thread's own, whatever a device did.
  const bool of_device = from.device != DeviceId::kNone;
  std::vector<Step> thread_steps;
  for (std::size_t i = 0; i < attributed.steps.size(); ++i) {
    const AttributedStep& step = attributed.steps[i];
    report.steps.push_back(make_step(step, loop, i, i >= warm_up, from, recording));
    if (of_device) thread_steps.push_back(make_step(step, loop, i, i >= warm_up, {}, recording));
  }
  const std::vector<Step>& on_host = of_device ? thread_steps : report.steps;
  report.analysed = choose_steps(loop, report.steps, options);
  if (report.analysed.empty()) return report;

  report.padding = padding_use(lengths_of(lengths_of_thread(recording, loop.thread), report.steps,
                                          report.analysed, recording.text));
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
  report.ops = op_rows(op_table, attributed.merged_ops, recording);
  report.merged_ops = attributed.merged_ops;
  report.merged_kernels = of_device ? attributed.merged_kernels : 0;
  if (of_device) add_device_rows(report, attributed, from.index, first.steady, use, recording);
  add_op_samples(report, op_table.sorted(), attributed.op_blocks);
  report.populations = describe_populations(report.steps, report.analysed, report.unit());
  report.drift = find_drift(report);
  report.memory = measure_memory_pressure(report, counters);
  report.verdict.thread = loop.thread;
  report.verdict.device = from.device;
  judge(report,
        {recording.op_count, lost_events(recording.losses), recording.facts.is_incomplete()});
  return report;
}

}  // namespace stepscope

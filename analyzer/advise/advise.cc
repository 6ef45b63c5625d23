#include "analyzer/advise/advise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/process_tree.h"
#include "analyzer/verdict/summary.h"
#include "store/counters.h"

namespace stepscope {

std::vector<AdviceFacts> advise(const AdviceContext& context) {
  std::vector<AdviceFacts> result;
  for (auto* rule : {input_prefetch,     input_cache,       more_workers,
                     persistent_workers, fewer_tiny_ops,    fused_optimizer,
                     periodic_stall,     evaluation_mode,   gradients_in_inference,
                     torchscript,        single_samples,    sort_by_length,
                     read_at_once,       keep_freed_memory, pinned_copies,
                     blocking_sync,      ops_on_cpu,        cudnn_benchmark,
                     idle_gpu,           fewer_threads,     cpu_quota,
                     spread_threads}) {
    if (auto advice = rule(context)) result.push_back(*std::move(advice));
  }
  std::stable_sort(result.begin(), result.end(), [](const AdviceFacts& a, const AdviceFacts& b) {
    return a.saves_ns > b.saves_ns;
  });
  // This advice comes last, whatever it saves: it says where to work, not what to change.
  if (auto advice = faster_line(context)) result.push_back(*std::move(advice));
  return result;
}

namespace {

constexpr std::size_t kMinReadings = 4;

// The counters from the first to the last analysed step.
class LoopCounters {
 public:
  LoopCounters(const LoopReport& report, const Counters& counters)
      : counters_(counters),
        steps_(static_cast<double>(report.analysed.back() - report.analysed.front() + 1)) {
    const Step& last = report.steps[report.analysed.back()];
    range_ = {report.steps[report.analysed.front()].start, last.end()};
  }

  // The change of a total per step; 0: unknown, because the range has fewer than kMinReadings
  // readings.
  [[nodiscard]] double a_step(ProcessId process, const char* name) const {
    const CounterSeries* series = counters_.find(process, name);
    if (series == nullptr || series->within(range_).size() < kMinReadings) return 0;
    return series->change(range_) / steps_;
  }
  // The mean of a gauge of one of the machine's GPUs; nullopt: not sampled.
  [[nodiscard]] std::optional<double> mean_of_gpu(const char* name, std::int64_t gpu) const {
    const CounterSeries* series = counters_.find(ProcessId::kNone, name, gpu);
    if (series == nullptr) return std::nullopt;
    const auto readings = series->within(range_);
    if (readings.size() < kMinReadings) return std::nullopt;
    double sum = 0;
    for (const auto& reading : readings) sum += reading.value;
    return sum / static_cast<double>(readings.size());
  }

 private:
  const Counters& counters_;
  TimeRange range_{};
  double steps_;
};

void add_memory_use(LoopReport& report, const LoopCounters& counters) {
  report.use.system_ns = counters.a_step(report.process, counter::kCpuSystem);
  report.use.minor_faults = counters.a_step(report.process, counter::kMinorFaults);
  report.use.growth_bytes = counters.a_step(report.process, counter::kRss);
  report.use.tensor_bytes = counters.a_step(report.process, counter::kTensorAllocatedBytes);
  const double tensors = counters.a_step(report.process, counter::kTensorAllocations);
  report.use.tensor_size = tensors > 0 ? report.use.tensor_bytes / tensors : 0;
}

void add_gpu_use(LoopReport& report, const LoopCounters& counters) {
  constexpr std::int64_t kMaxGpus = 64;
  for (std::int64_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    const auto percent = counters.mean_of_gpu(counter::kGpuUtilization, gpu);
    if (!percent) break;
    ++report.use.gpus;
    report.use.gpu_busy = std::max(report.use.gpu_busy, *percent / 100);
  }
}

// The CPU time of the loop's process and those it started.
double cpu_ns_per_step(const std::set<ProcessId>& started, const LoopReport& report,
                       const LoopCounters& counters) {
  const auto of = [&](ProcessId process) {
    return counters.a_step(process, counter::kCpuUser) +
           counters.a_step(process, counter::kCpuSystem);
  };
  double total = of(report.process);
  for (const ProcessId process : started) total += of(process);
  return total;
}

bool backward_elsewhere(const RecordedRun& recording, const LoopReport& report,
                        const ThreadMarks& marks) {
  return std::any_of(
      recording.threads.begin(), recording.threads.end(), [&](const StoredThread& thread) {
        return thread.process == report.process && thread.id != report.verdict.thread &&
               marks.backward.contains(thread.id);
      });
}

// A thread that hands over the batches of a loader has few ops outside the waits for them, such as
// those that pin a batch's memory. A thread that runs a model on them has more.
constexpr std::int64_t kHandOverOps = 4;  // a step

// The waits for a batch that begin on the thread within the analysed steps.
std::int64_t waits_in_loop(const RecordedRun& recording, const LoopReport& report,
                           ThreadId thread) {
  const SessionTime begin = report.steps[report.analysed.front()].start;
  const SessionTime end = report.steps[report.analysed.back()].end();
  const std::vector<Phase> phases = phases_of(recording, thread);
  return std::count_if(phases.begin(), phases.end(), [&](const Phase& phase) {
    return phase.kind == PhaseKind::kInput && phase.start >= begin && phase.start < end;
  });
}

// Counts the threads that prepare batches ahead. Those without phases have ops in most steps; those
// that read a loader wait for it in most steps of a training loop; beside other loops they have a
// loop of their own, as any other thread with phases has. Scopes and samplers do not count, because
// any thread may have them.
void count_loader_threads(const RecordedRun& recording, const ThreadMarks& marks,
                          LoopReport& report) {
  const auto analysed = static_cast<std::int64_t>(report.analysed.size());
  for (const StoredThread& thread : recording.threads) {
    if (thread.process != report.process || thread.id == report.verdict.thread) continue;
    const auto found = report.op_facts.elsewhere.find(thread.id);
    const std::int64_t ops = found == report.op_facts.elsewhere.end() ? 0 : found->second;
    if (!marks.phases.contains(thread.id)) {
      if (ops > 0 && 2 * ops >= report.op_facts.steps) ++report.use.loader_threads;
    } else if (report.trains && marks.readers.contains(thread.id) &&
               ops <= kHandOverOps * report.op_facts.steps &&
               2 * waits_in_loop(recording, report, thread.id) >= analysed) {
      ++report.use.loader_threads;
      ++report.use.reading_threads;
    }
  }
}

bool sees_data_again(const std::vector<Phase>& phases) {
  const auto end = std::find_if(phases.begin(), phases.end(),
                                [](const Phase& p) { return p.kind == PhaseKind::kInputEnd; });
  return std::any_of(end, phases.end(), [](const Phase& p) { return p.kind == PhaseKind::kInput; });
}

// A device may be idle at other times than those in which the loop's thread waits for input, and
// inferred waits are known only on average in steps without ops.
bool knows_input_of_each_step(const LoopReport& report) {
  return report.device == DeviceId::kNone && !(report.input.inferred && report.recording.removed);
}

StepTimes step_times(const LoopReport& report) {
  const bool with_input = knows_input_of_each_step(report);
  StepTimes times;
  for (const Step& step : report.steps) {
    times.step_ns.push_back(static_cast<double>(to_ns(step.dur)));
    if (with_input)
      times.input_ns.push_back(static_cast<double>(exposed_ns(step, Category::kInput)));
  }
  return times;
}

}  // namespace

std::shared_ptr<const Predictor> make_predictor(const LoopReport& report, const PhaseSplit* split,
                                                StepSample sample) {
  StepTimes times = step_times(report);
  if (split != nullptr && report.recording.removed) {
    // A step gets shorter by as much as the tasks of the loop's thread.
    for (SampledStep& step : sample.steps) {
      for (Task& task : step.tasks) {
        if (task.kind != TaskKind::kHost) continue;
        const auto before = static_cast<double>(task.dur_ns);
        task.dur_ns = std::llround(before * split->net_share(task.category, task.phase));
        if (task.lane != kLoopLane) continue;
        const double removed = before - static_cast<double>(task.dur_ns);
        times.step_ns[step.index] -= removed;
        if (task.category == Category::kInput && !times.input_ns.empty())
          times.input_ns[step.index] -= removed;
      }
    }
  }
  return std::make_shared<const Predictor>(std::move(sample), times, report.analysed,
                                           report.op_steps);
}

ThreadMarks::ThreadMarks(const std::vector<Phase>& all) {
  std::set<ThreadId> others;  // that have another phase
  for (const Phase& phase : all) {
    if (phase.kind == PhaseKind::kBackward) backward.insert(phase.thread);
    if (phase.kind == PhaseKind::kScope || phase.kind == PhaseKind::kSampler) continue;
    phases.insert(phase.thread);
    if (phase.kind != PhaseKind::kInput && phase.kind != PhaseKind::kInputEnd)
      others.insert(phase.thread);
  }
  std::set_difference(phases.begin(), phases.end(), others.begin(), others.end(),
                      std::inserter(readers, readers.end()));
}

void add_advice(LoopReport& report, const RecordedRun& recording, const Counters& counters,
                const ThreadMarks& marks, const std::shared_ptr<const Predictor>& predictor) {
  report.use.sees_data_again = sees_data_again(phases_of(recording, report.verdict.thread));
  const LoopCounters of_loop(report, counters);
  const std::set<ProcessId> started = ProcessTree(recording.processes).started_by(report.pid);
  report.use.cpu_ns = cpu_ns_per_step(started, report, of_loop);
  report.use.backward_elsewhere = backward_elsewhere(recording, report, marks);
  add_memory_use(report, of_loop);
  add_gpu_use(report, of_loop);
  count_loader_threads(recording, marks, report);
  report.use.loader_processes = static_cast<int>(started.size());

  report.replay = {static_cast<std::int64_t>(predictor->steps()), predictor->replayed_ns(),
                   predictor->replay_error(), predictor->measured_ns(), predictor->withheld()};
  if (predictor->withheld() == Withheld::kNothing && report.verdict.kind != kNoVerdict)
    report.verdict.advice = advise({report, *predictor, recording});
}

}  // namespace stepscope

#include "analyzer/advise/advise.h"

#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "store/counters.h"

namespace stepscope {

std::vector<Advice> advise(const AdviceContext& context) {
  std::vector<Advice> result;
  for (auto* rule : {input_prefetch, input_cache, fewer_tiny_ops, fused_optimizer, evaluation_mode,
                     periodic_stall, pinned_copies, blocking_sync}) {
    if (auto advice = rule(context)) result.push_back(*std::move(advice));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Advice& a, const Advice& b) { return a.saves_ns > b.saves_ns; });
  return result;
}

namespace {

constexpr std::size_t kLeastReadings = 4;

// Over the steps from the first to the last analysed one.
double cpu_ns_per_step(const RecordedRun& recording, const LoopReport& report,
                       const Counters& counters) {
  const Step& first = report.steps[report.analysed.front()];
  const Step& last = report.steps[report.analysed.back()];
  const TimeRange range{first.start, last.start + last.dur};
  const double steps = static_cast<double>(report.analysed.back() - report.analysed.front() + 1);
  double total = 0;
  for (const StoredProcess& process : recording.processes) {
    if (process.id != report.process && process.parent_pid != report.pid) continue;
    for (const char* name : {counter::kCpuUser, counter::kCpuSystem}) {
      const CounterSeries* series = counters.find(process.id, name);
      // Fewer than a handful of readings in that range say nothing about it.
      if (series != nullptr && series->within(range).size() >= kLeastReadings)
        total += series->change(range);
    }
  }
  return total / steps;
}

bool sees_data_again(const std::vector<Phase>& phases) {
  const auto end = std::find_if(phases.begin(), phases.end(),
                                [](const Phase& p) { return p.kind == PhaseKind::kInputEnd; });
  return std::any_of(end, phases.end(), [](const Phase& p) { return p.kind == PhaseKind::kInput; });
}

std::vector<double> step_times(const LoopReport& report) {
  std::vector<double> times;
  for (const Step& step : report.steps) times.push_back(static_cast<double>(to_ns(step.dur)));
  return times;
}

}  // namespace

std::shared_ptr<const Predictor> make_predictor(const LoopReport& report, StepSample sample) {
  return std::make_shared<const Predictor>(std::move(sample), step_times(report), report.analysed);
}

void add_advice(LoopReport& report, const RecordedRun& recording, const Counters& counters,
                const std::shared_ptr<const Predictor>& predictor) {
  report.use.sees_data_again = sees_data_again(phases_of(recording, report.verdict.thread));
  report.use.cpu_ns = cpu_ns_per_step(recording, report, counters);
  report.use.loader_processes = static_cast<int>(std::count_if(
      recording.processes.begin(), recording.processes.end(),
      [&](const StoredProcess& process) { return process.parent_pid == report.pid; }));

  report.replay = {static_cast<std::int64_t>(predictor->steps()), predictor->replayed_ns(),
                   predictor->replay_error(), predictor->withheld()};
  if (predictor->withheld().empty())
    report.verdict.advice = advise({report, *predictor, recording});
}

}  // namespace stepscope

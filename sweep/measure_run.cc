#include "sweep/measure_run.h"

#include <algorithm>

#include "analyzer/analyze.h"
#include "analyzer/counters/counters.h"
#include "store/counted.h"
#include "store/counters.h"

namespace stepscope {
namespace {

// The time spent waiting for input, exposed or hidden.
std::int64_t input_of(const Step& step, DeviceId device) {
  std::int64_t ns = 0;
  for (const StepTime& time : step.times) {
    if (time.category == Category::kInput && time.device == device) {
      ns += to_ns(time.exposed) + to_ns(time.hidden);
    }
  }
  return ns;
}

bool input_is_seen(const LoopReport& loop) { return loop.input.waits > 0 || !loop.lacks_loader; }

void add_steps(const LoopReport& loop, const MeasureOptions& options, SweepRun& run) {
  run.marker = marker_name(loop.marker);
  run.input_seen = input_is_seen(loop);
  run.trains = loop.trains ? 1 : 0;
  for (const Step& step : loop.steps) {
    const bool steady = options.warm_up ? step.number > *options.warm_up : step.steady;
    const std::int64_t wall = to_ns(step.dur);
    const auto input =
        run.input_seen ? std::optional(std::min(input_of(step, loop.device), wall)) : std::nullopt;
    run.steps.push_back({step.number, wall, input, steady});
  }
  if (!options.samples || run.steps.empty()) return;
  const auto steps = static_cast<double>(run.steps.size());
  run.samples_per_step = options.per_run ? *options.samples / steps : *options.samples;
}

// The change of a counter in `range`; nothing if it was read fewer than twice there.
std::optional<double> change(const Counters& counters, ProcessId process, const char* name,
                             TimeRange range) {
  const CounterSeries* series = counters.find(process, name);
  if (series == nullptr || series->within(range).size() < 2) return std::nullopt;
  return series->change(range);
}

void add_memory(const LoopReport& loop, const Counters& counters, SweepRun& run) {
  TimeRange range;
  std::int64_t sum = 0;
  double pressure = 0;
  bool any = false;
  for (std::size_t i = 0; i < loop.steps.size(); ++i) {
    if (!run.steps[i].steady) continue;
    const Step& step = loop.steps[i];
    if (!any) range.start = step.start;
    any = true;
    range.end = step.start + step.dur;
    sum += to_ns(step.dur);
    if (i < loop.memory.stall_ns.size()) pressure += loop.memory.stall_ns[i];
  }
  if (!any) return;
  run.loop_ns = sum;
  run.loop_minor_faults = change(counters, loop.process, counter::kMinorFaults, range);
  run.loop_major_faults = change(counters, loop.process, counter::kMajorFaults, range);
  if (!loop.memory.stall_ns.empty()) run.loop_pressure_ns = pressure;
}

void say_no_steps(const std::string& why, SweepRun& run) {
  if (run.outcome != SweepOutcome::kOk) return;
  run.outcome = SweepOutcome::kNoSteps;
  run.cause = why;
}

}  // namespace

Status measure_sweep_run(const TraceReader& reader, const MeasureOptions& options, SweepRun& run) {
  if (const auto stopped = reader.meta("recording_stopped")) {
    return Status::error(ErrorKind::kIo, *stopped);
  }
  const auto recording = read_recording(reader);
  if (!recording.ok()) return recording.status();
  const auto report = analyze(*recording);
  if (!report.ok()) return report.status();
  const auto counters = read_counters(*recording);
  if (!counters.ok()) return counters.status();
  run.torch_version = report->run.torch_version;
  run.lost_events = report->lost();
  if (report->loops.empty()) {
    say_no_steps(options.why_no_steps ? options.why_no_steps(*report) : "no steps", run);
    return {};
  }
  const LoopReport& loop = report->loops.front();
  add_steps(loop, options, run);
  add_memory(loop, *counters, run);
  const auto steady = [](const SweepStep& step) { return step.steady; };
  if (std::none_of(run.steps.begin(), run.steps.end(), steady)) {
    say_no_steps("only " + counted(static_cast<std::int64_t>(run.steps.size()), "step") +
                     ", all warm-up; use --warmup 0 or a longer run",
                 run);
  }
  return {};
}

Result<bool> killed_for_memory(const TraceReader& reader) {
  const auto ends = reader.process_ends();
  if (!ends.ok()) return ends.status();
  return std::any_of(ends->begin(), ends->end(),
                     [](const ProcessEnd& end) { return end.out_of_memory; });
}

}  // namespace stepscope

#include "analyzer/live/live_run.h"

#include <algorithm>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/lines/find_lines.h"
#include "analyzer/lines/last_lines.h"
#include "analyzer/steps/segment_ranges.h"
#include "analyzer/steps/segments.h"
#include "store/counters.h"

namespace stepscope {
namespace {

template <typename Event>
void append(std::vector<Event>& held, std::vector<Event>& news) {
  held.insert(held.end(), news.begin(), news.end());
}

// Keeps the latest events of a kind that is stored (nearly) in the order of ends.
template <typename Event>
void keep_latest(std::vector<Event>& events, std::size_t most) {
  if (events.size() > most)
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most));
}

template <typename Event>
SessionTime first_start(const std::vector<Event>& events) {
  SessionTime first = SessionTime::max();
  for (const Event& event : events) first = std::min(first, event.start);
  return first;
}

bool by_thread_and_start(const Phase& a, const Phase& b) {
  if (a.thread != b.thread) return a.thread < b.thread;
  if (a.start != b.start) return a.start < b.start;
  return a.dur > b.dur;
}

template <typename Event>
SessionTime latest_end(const std::vector<Event>& events, SessionTime latest) {
  for (const Event& event : events) latest = std::max(latest, event.start + event.dur);
  return latest;
}

}  // namespace

Result<std::unique_ptr<LiveRun>> LiveRun::open(const std::filesystem::path& path,
                                               std::size_t phases) {
  auto tail = TraceTail::open(path);
  if (!tail.ok()) return tail.status();
  return std::unique_ptr<LiveRun>(new LiveRun(*std::move(tail), phases));
}

Result<const LiveFrame*> LiveRun::refresh() {
  News news;
  do {
    auto read = tail_->read(
        {static_cast<std::int64_t>(most_phases_) * 4, static_cast<std::int64_t>(most_events_)});
    if (!read.ok()) return read.status();
    news = *std::move(read);
    if (Status status = take_in_phases(news); !status.ok()) return status;
  } while (news.more_phases);
  take_in(news);
  if (Status status = analyse_window(); !status.ok()) return status;
  describe_loops();
  if (Status status = describe_lines(); !status.ok()) return status;
  describe_memory();
  return &std::as_const(frame_);
}

// Keeps the phases in their order, and counts the steps of those that are dropped.
Status LiveRun::take_in_phases(News& news) {
  append(held_.phases, news.phases);
  std::stable_sort(held_.phases.begin(), held_.phases.end(), by_thread_and_start);
  remember_steps(/*whole=*/!news.being_recorded && !news.more_phases);
  drop_old_phases();
  return {};
}

// The loops in the phases that are held.
std::vector<Loop> LiveRun::marked_loops() const {
  RecordedRun run;
  run.phases = held_.phases;
  run.threads = tail_->threads();
  run.text = [this](StringId id) { return tail_->text(id); };
  take_modes(run);
  std::vector<Loop> loops = find_loops(training_phases(run), run.threads);
  find_segments(run, loops);
  return loops;
}

// `whole`: nothing will follow, so the last step of each loop has ended.
void LiveRun::remember_steps(bool whole) {
  for (const Loop& loop : marked_loops()) {
    if (loop.steps.empty()) continue;
    std::deque<LiveStep>& history = past_[loop.thread].history;
    const std::size_t ended = loop.steps.size() - (whole ? 0 : 1);
    for (std::size_t i = 0; i < ended; ++i) {
      const TimeRange& step = loop.steps[i];
      if (history.empty() || step.start >= history.back().end)
        history.push_back({step.end, length_outside_of(step, loop.segments)});
    }
    while (history.size() > kLiveHistory) history.pop_front();
  }
}

// Cuts at the start of a step, so that the rest of a loop begins with a whole step.
void LiveRun::drop_old_phases() {
  if (held_.phases.size() <= most_phases_) return;
  std::map<ThreadId, SessionTime> keep_from;
  SessionTime others_from = SessionTime::max();
  for (const Loop& loop : marked_loops()) {
    const std::size_t drop = loop.steps.size() / 2;
    if (drop == 0) continue;
    past_[loop.thread].steps_before += static_cast<std::int64_t>(drop);
    keep_from[loop.thread] = loop.steps[drop].start;
    others_from = std::min(others_from, loop.steps[drop].start);
  }
  std::erase_if(held_.phases, [&](const Phase& phase) {
    const auto own = keep_from.find(phase.thread);
    if (own != keep_from.end()) return phase.start < own->second;
    return others_from != SessionTime::max() && phase.start + phase.dur < others_from;
  });
  // Phases without any steps are useless.
  if (keep_from.empty() && held_.phases.size() > 4 * most_phases_)
    keep_latest(held_.phases, most_phases_);
}

void LiveRun::take_in(News& news) {
  append(held_.ops, news.ops);
  append(held_.calls, news.calls);
  append(held_.kernels, news.kernels);
  append(held_.copies, news.copies);
  append(held_.memsets, news.memsets);
  append(held_.syncs, news.syncs);
  append(held_.samples, news.samples);
  append(held_.stretches, news.stretches);
  append(held_.thread_readings, news.thread_readings);
  append(held_.frames, news.frames);
  append(held_.stack_samples, news.stack_samples);
  append(held_.native_samples, news.native_samples);
  held_.watched_threads = std::move(news.watched_threads);
  for (const Sample& sample : news.samples) {
    latest_[std::string(tail_->text(sample.counter))][{sample.process, sample.gpu}] = sample.value;
  }
  held_.op_count = news.op_count;
  held_.skipped = held_.skipped || news.skipped;
  held_.losses = std::move(news.losses);
  held_.ends = std::move(news.ends);
  held_.unfinished = std::move(news.unfinished);
  held_.being_recorded = news.being_recorded;
  drop_old_events();
}

void LiveRun::drop_old_events() {
  const std::size_t held = std::max(held_.ops.size(), held_.kernels.size());
  if (held > most_events_) held_.skipped = true;
  keep_latest(held_.ops, most_events_);
  keep_latest(held_.calls, most_events_);
  keep_latest(held_.kernels, most_events_);
  keep_latest(held_.copies, most_events_);
  keep_latest(held_.memsets, most_events_);
  keep_latest(held_.syncs, most_events_);
  // Samples come by time: keep those that fall into the time of the held events.
  constexpr std::size_t kMaxSamples = 16'384;
  keep_latest(held_.samples, kMaxSamples);
  keep_latest(held_.stretches, kMaxSamples);
  keep_latest(held_.thread_readings, 4 * kMaxSamples);
  keep_latest(held_.stack_samples, 4 * kMaxSamples);
  keep_latest(held_.native_samples, kMaxSamples);
}

RecordedRun LiveRun::recorded_run() const {
  RecordedRun run;
  run.facts.command = tail_->meta("command").value_or("");
  run.facts.working_folder = tail_->meta("working_folder").value_or("");
  run.facts.program = tail_->meta("program").value_or("");
  run.facts.torch_version = tail_->meta("torch_version").value_or("");
  run.facts.cpu_count = tail_->meta_int("cpu_count", 0);
  run.facts.duration_ns = tail_->meta_int("end_ns", 0);
  run.facts.leaf_op_overhead =
      Duration(std::max<std::int64_t>(tail_->meta_int("leaf_op_overhead_ns", 0), 0));
  run.facts.sampling.native_period =
      Duration(std::max<std::int64_t>(tail_->meta_int("native_period_ns", 0), 0));
  run.facts.cudnn_benchmark = parse_switch(tail_->meta("cudnn_benchmark"));
  run.facts.being_recorded = held_.being_recorded;
  run.facts.cut_off = !held_.being_recorded && tail_->meta("state") == "recording";
  if (run.facts.cut_off) run.facts.duration_ns = to_ns(latest_end(held_.phases, session_time(0)));
  run.facts.stopped_because = tail_->meta("recording_stopped").value_or("");
  // The ops of the first held steps may be gone.
  run.facts.ops_dropped = held_.skipped;
  run.facts.windowed = held_.skipped || !tail_->meta("window").value_or("").empty();
  run.processes = tail_->processes();
  run.threads = tail_->threads();
  run.devices = tail_->devices();
  run.streams = tail_->streams();
  run.phases = held_.phases;
  run.losses = held_.losses;
  run.ends = held_.ends;
  run.unfinished = held_.unfinished;
  run.op_count = static_cast<std::int64_t>(held_.ops.size());
  run.for_each_op = [this](const RecordedRun::OpVisitor& visit) {
    for (const Op& op : held_.ops) {
      if (!visit(op)) break;
    }
    return Status();
  };
  run.for_each_sample = [this](const RecordedRun::SampleVisitor& visit) {
    for (const Sample& sample : held_.samples) {
      if (!visit(sample)) break;
    }
    return Status();
  };
  const auto source = [](const auto& events) {
    return [&events](const auto& visit) {
      for (const auto& event : events) visit(event);
      return Status();
    };
  };
  run.for_each_api_call = source(held_.calls);
  run.for_each_kernel = source(held_.kernels);
  run.for_each_copy = source(held_.copies);
  run.for_each_memset = source(held_.memsets);
  run.for_each_sync = source(held_.syncs);
  run.watched_threads = held_.watched_threads;
  run.for_each_stretch = source(held_.stretches);
  run.for_each_thread_reading = source(held_.thread_readings);
  run.frames = held_.frames;
  run.for_each_stack_sample = source(held_.stack_samples);
  run.for_each_native_sample = source(held_.native_samples);
  run.text = [this](StringId id) { return tail_->text(id); };
  take_lengths(run);
  take_modes(run);
  take_op_switches(run);
  take_lost_times(run);
  return run;
}

Status LiveRun::analyse_window() {
  const RecordedRun run = recorded_run();
  AnalyzeOptions options;
  std::int64_t steps = 0;
  bool by_loader = false;
  for (const Loop& loop : find_loops(training_phases(run), run.threads)) {
    steps = std::max(steps, static_cast<std::int64_t>(loop.steps.size()));
    by_loader = by_loader || loop.marker == StepMarker::kLoader;
  }
  // If steps begin with a wait, the last one has not ended; a step of the optimizer ends with its
  // mark.
  if (held_.being_recorded && by_loader && steps > 1) options.steps = StepSpan{1, steps - 1};
  auto report = analyze(run, options);
  if (!report.ok() && options.steps) report = analyze(run);  // the marks have their own numbers
  if (!report.ok()) return report.status();
  // There are few, large steps: hold more events from now on.
  const bool few = report->loops.empty() || report->loops.front().analysed.size() < kLiveSteps;
  if (few && held_.skipped && most_events_ < kLiveMostEvents) most_events_ *= 2;

  SessionTime latest = latest_end(held_.phases, session_time(0));
  latest = latest_end(held_.ops, latest);
  latest = latest_end(held_.kernels, latest);
  if (!held_.samples.empty()) latest = std::max(latest, held_.samples.back().at);
  frame_.window = *std::move(report);
  frame_.being_recorded = held_.being_recorded;
  frame_.finished = tail_->meta("end_ns") || tail_->meta("imported_from");
  frame_.at_ns = std::max(to_ns(latest), frame_.window.run.duration_ns);
  frame_.op_count = held_.op_count;
  return {};
}

void LiveRun::describe_loops() {
  frame_.loops.clear();
  for (LoopReport& loop : frame_.window.loops) {
    LiveLoop live;
    live.thread = loop.steps.front().thread;
    const auto past = past_.find(live.thread);
    if (past != past_.end()) {
      live.history.assign(past->second.history.begin(), past->second.history.end());
      const std::int64_t before = past->second.steps_before;
      // Marks with their own numbers ("ProfilerStep#7") already count over the whole run.
      const bool numbered = loop.steps.front().number != 1;
      for (Step& step : loop.steps) step.number += numbered ? 0 : before;
      const bool last_is_open = frame_.being_recorded && loop.marker == StepMarker::kLoader;
      live.steps = loop.steps.back().number - (last_is_open ? 1 : 0);
    } else {
      for (const Step& step : loop.steps) live.history.push_back({step.end(), step.dur});
    }
    frame_.loops.push_back(std::move(live));
  }
}

Status LiveRun::describe_lines() {
  if (!frame_.being_recorded || held_.stack_samples.empty()) return {};
  const RecordedRun run = recorded_run();
  const auto history = StackHistory::read(run);
  if (!history.ok()) return history.status();
  // Stack samples arrive with the other events of their time.
  SessionTime latest = session_time(0);
  for (const StackSample& sample : held_.stack_samples) latest = std::max(latest, sample.at);
  for (std::size_t i = 0; i < frame_.loops.size(); ++i)
    frame_.loops[i].now = lines_now(run, *history, frame_.window.loops[i], latest);
  return {};
}

void LiveRun::describe_memory() {
  const auto latest = [this](const char* name, ProcessId process) -> std::optional<std::int64_t> {
    const auto known = latest_.find(name);
    if (known == latest_.end()) return std::nullopt;
    std::optional<std::int64_t> sum;  // of all devices
    for (const auto& [key, value] : known->second) {
      if (key.first == process) sum = sum.value_or(0) + value;
    }
    return sum;
  };
  const auto has_ended = [this](ProcessId id) {
    return std::any_of(held_.ends.begin(), held_.ends.end(), [id](const ProcessEnd& end) {
      return end.process == id && end.how != EndKind::kReplaced;
    });
  };
  frame_.memory.clear();
  for (const StoredProcess& process : tail_->processes()) {
    LiveMemory memory{process.name,
                      process.pid,
                      latest(counter::kRss, process.id),
                      latest(counter::kTensorBytes, process.id),
                      latest(counter::kDeviceAllocatedBytes, process.id),
                      latest(counter::kDeviceReservedBytes, process.id)};
    if (!memory.rss_bytes && !memory.device_allocated_bytes) continue;
    if (frame_.being_recorded && has_ended(process.id)) continue;
    frame_.memory.push_back(std::move(memory));
  }
  frame_.memory_available_bytes = latest(counter::kMemoryAvailable, ProcessId::kNone);
}

}  // namespace stepscope

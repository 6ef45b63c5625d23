#include "analyzer/starved/measure_starvation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/process_tree.h"
#include "analyzer/starved/core_use.h"
#include "analyzer/steps/loop_parts.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxThreadsReported = 64;

std::size_t index_of(LoopPart part) { return static_cast<std::size_t>(part); }

// An inferred wait is not placed by an estimate: a thread that was starved there may have waited
// elsewhere (unplaced_pauses).
std::size_t index_of(const LoopStretch& stretch) {
  const bool unplaced = stretch.estimated && stretch.part == LoopPart::kInput;
  return index_of(unplaced ? LoopPart::kOther : stretch.part);
}

double overlap_ns(TimeRange a, TimeRange b) {
  return static_cast<double>(
      std::max<std::int64_t>(to_ns(std::min(a.end, b.end) - std::max(a.start, b.start)), 0));
}

TimeRange range_of(const Step& step) { return {step.start, step.end()}; }

// The loop thread, step by step and phase by phase.
struct LoopSplit {
  std::vector<double> starved_ns;                     // of each step
  std::vector<double> unmarked_starved;               // of each step, between its phases
  std::array<ScheduleSplit, kLoopPartCount> parts{};  // of the analysed steps
};

// Each instant belongs to at most one step and one part of it. Steps, parts and stretches are
// sorted, and a stretch covers few parts.
LoopSplit split_loop(const LoopReport& report, const StepStretches& parts,
                     const std::vector<ThreadStretch>& stretches) {
  LoopSplit split;
  split.starved_ns.resize(report.steps.size());
  split.unmarked_starved.resize(report.steps.size());
  std::vector<bool> analysed(report.steps.size());
  for (const std::size_t i : report.analysed) analysed[i] = true;

  const auto each_place = [&](TimeRange range, const auto& visit) {
    auto step = std::partition_point(report.steps.begin(), report.steps.end(),
                                     [&](const Step& s) { return s.end() <= range.start; });
    for (; step != report.steps.end() && step->start < range.end; ++step) {
      const auto index = static_cast<std::size_t>(step - report.steps.begin());
      auto part =
          std::partition_point(parts[index].begin(), parts[index].end(),
                               [&](const LoopStretch& s) { return s.range.end <= range.start; });
      for (; part != parts[index].end() && part->range.start < range.end; ++part)
        visit(index, *part, overlap_ns(range, part->range));
    }
  };
  for (const std::size_t i : report.analysed) {
    for (const LoopStretch& part : parts[i])
      split.parts[index_of(part)].running += static_cast<double>(to_ns(part.range.length()));
  }
  for (const ThreadStretch& stretch : stretches) {
    const double dur = static_cast<double>(to_ns(stretch.dur));
    if (dur <= 0) continue;
    const double starved = std::min(static_cast<double>(to_ns(stretch.starved)) / dur, 1.0);
    const double run = std::min(static_cast<double>(to_ns(stretch.run)) / dur, 1.0 - starved);
    each_place({stretch.start, stretch.start + stretch.dur},
               [&](std::size_t step, const LoopStretch& place, double ns) {
                 split.starved_ns[step] += starved * ns;
                 if (!place.marked || place.estimated) split.unmarked_starved[step] += starved * ns;
                 if (!analysed[step]) return;
                 ScheduleSplit& part = split.parts[index_of(place)];
                 part.starved += starved * ns;
                 part.blocked += (1 - starved - run) * ns;
                 part.running -= (1 - run) * ns;
               });
  }
  for (ScheduleSplit& part : split.parts) part.running = std::max(part.running, 0.0);
  return split;
}

// For a loop thread whose scheduling is known from readings only.
LoopSplit split_evenly(const LoopReport& report, const StepStretches& parts,
                       const ScheduleSplit& shares) {
  LoopSplit split = split_loop(report, parts, {});
  for (ScheduleSplit& part : split.parts) {
    const double ns = part.running;
    part = {ns * (1 - shares.starved - shares.blocked), ns * shares.starved, ns * shares.blocked};
  }
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    split.starved_ns[i] = shares.starved * static_cast<double>(to_ns(report.steps[i].dur));
    split.unmarked_starved[i] = split.starved_ns[i];
  }
  return split;
}

// What inferred waits, pauses between ops, have of the analysed steps.
struct Pauses {
  double ns = 0;
  double starved = 0;  // at most: a thread that was starved there may not have waited
};

// Nothing if it is known where in a step the waits lie. It is not if they were inferred in other
// steps, those with ops.
std::optional<Pauses> unplaced_pauses(const LoopReport& report, const LoopSplit& split) {
  const bool placed = split.parts[index_of(LoopPart::kInput)].sum() > 0;
  if (!report.input.inferred || placed) return std::nullopt;
  Pauses pauses;
  for (const std::size_t i : report.analysed) {
    const double ns = static_cast<double>(exposed_ns(report.steps[i], Category::kInput));
    pauses.ns += ns;
    pauses.starved += std::min(ns, split.unmarked_starved[i]);
  }
  return pauses;
}

// The starved fraction of each part of the analysed steps.
class StarvedFractions {
 public:
  // `pauses` lie outside the marked phases, and are not part of what surrounds them there.
  StarvedFractions(const LoopSplit& split, const Pauses& pauses)
      : input_(split.parts[index_of(LoopPart::kInput)]),
        backward_(split.parts[index_of(LoopPart::kBackward)]),
        optimizer_(split.parts[index_of(LoopPart::kOptimizer)]),
        rest_(split.parts[index_of(LoopPart::kForward)]) {
    // Everything else is one part, because it is only estimated where the forward pass begins in
    // steps without ops.
    const ScheduleSplit& other = split.parts[index_of(LoopPart::kOther)];
    rest_.starved = std::max(rest_.starved + other.starved - pauses.starved, 0.0);
    const double awake = rest_.running + rest_.blocked + other.running + other.blocked;
    rest_.running = std::max(awake - (pauses.ns - pauses.starved), 0.0);
    rest_.blocked = 0;
  }

  [[nodiscard]] double of(const StepTime& time) const {
    const bool updates = time.phase == PhaseKind::kOptimizer || time.phase == PhaseKind::kZeroGrad;
    const ScheduleSplit& part = time.phase == PhaseKind::kInput      ? input_
                                : time.phase == PhaseKind::kBackward ? backward_
                                : updates                            ? optimizer_
                                                                     : rest_;
    return part.sum() > 0 ? part.starved / part.sum() : 0;
  }

 private:
  ScheduleSplit input_, backward_, optimizer_, rest_;
};

// In a device's time, only idle time that the loop thread caused counts.
bool is_delayed_by_thread(Category category) {
  return category == Category::kInput || category == Category::kLaunch ||
         category == Category::kAllocation || category == Category::kHost ||
         category == Category::kOther;
}

// Subtracts starved time from the shares. Returns its share of the step.
double take_out_starved(const LoopReport& report, const LoopSplit& split, Shares& net) {
  const std::optional<Pauses> unplaced = unplaced_pauses(report, split);
  const Pauses pauses = unplaced.value_or(Pauses());
  const StarvedFractions fractions(split, pauses);
  double total = 0, starved = pauses.starved;
  net[static_cast<std::size_t>(Category::kInput)] -= pauses.starved;
  for (const std::size_t i : report.analysed) {
    const Step& step = report.steps[i];
    total += static_cast<double>(to_ns(step.dur));
    for (const StepTime& time : step.times) {
      if (report.device != DeviceId::kNone && !is_delayed_by_thread(time.category)) continue;
      if (time.category == Category::kInput && unplaced) continue;
      const double part = static_cast<double>(to_ns(time.exposed)) * fractions.of(time);
      net[static_cast<std::size_t>(time.category)] -= part;
      starved += part;
    }
  }
  if (total <= 0) return 0;
  for (std::size_t i = 0; i < net.size(); ++i)
    net[i] = std::max(report.shares[i] + net[i] / total, 0.0);
  return std::min(starved / total, 1.0);
}

ScheduleSplit shares_in(const WatchedSeries& series, TimeRange range) {
  const double length = static_cast<double>(to_ns(range.length()));
  if (length <= 0) return {};
  ScheduleSplit shares;
  shares.running = std::clamp(series.run.change(range) / length, 0.0, 1.0);
  shares.starved = std::clamp(series.starved.change(range) / length, 0.0, 1.0 - shares.running);
  shares.blocked = 1 - shares.running - shares.starved;
  return shares;
}

// The mean starved share of the threads, weighted by how long they had something to do.
double mean_starved(const std::vector<ThreadShares>& threads) {
  double starved = 0, weight = 0;
  for (const ThreadShares& thread : threads) {
    const double ready = thread.shares.running + thread.shares.starved;
    starved += thread.shares.starved * ready;
    weight += ready;
  }
  return weight > 0 ? starved / weight : 0;
}

// Sorts the threads other than the loop's by what they do for it.
void sort_threads(const LoopReport& report, const Schedule& schedule, const RecordedRun& recording,
                  TimeRange range, Starvation& starvation) {
  const std::set<ProcessId> started = ProcessTree(recording.processes).started_by(report.pid);
  for (const WatchedSeries& series : schedule.threads) {
    const StoredWatchedThread& thread = series.thread;
    const bool same = thread.process == report.process && thread.pid == report.pid;
    if (same && (thread.tid == report.tid || thread.name == "stepscope")) continue;
    const bool worker = started.contains(thread.process) ||
                        (thread.process == report.process && !same) ||
                        (same && series.recorded && !series.marked);
    const bool pool = same && !series.recorded;
    if (!worker && !pool) continue;
    auto& threads = worker ? starvation.workers : starvation.pool;
    threads.push_back(
        {thread.pid, thread.tid, thread.name, shares_in(series, range), series.cores});
  }
  for (auto* threads : {&starvation.workers, &starvation.pool}) {
    std::stable_sort(threads->begin(), threads->end(),
                     [](const ThreadShares& a, const ThreadShares& b) {
                       return a.shares.starved > b.shares.starved;
                     });
  }
}

void add_evidence(const LoopReport& report, Starvation& starvation) {
  if (starvation.loop_share > 0) {
    starvation.evidence.push_back(
        {EvidenceKind::kLoopStarved, starvation.loop_share, "ratio",
         "SELECT start_ns, dur_ns, run_ns, starved_ns FROM thread_stretch WHERE thread_id = " +
             std::to_string(static_cast<std::uint32_t>(report.verdict.thread)) +
             " ORDER BY starved_ns DESC"});
  }
  const std::string whose = " FROM starved_threads WHERE process_id = " +
                            std::to_string(static_cast<std::uint32_t>(report.process));
  if (starvation.pool_share > 0) {
    starvation.evidence.push_back(
        {EvidenceKind::kPoolStarved, starvation.pool_share, "ratio",
         "SELECT tid, thread, run_ns, starved_ns" + whose + " ORDER BY starved_ns DESC"});
  }
  if (starvation.worker_share > 0) {
    starvation.evidence.push_back(
        {EvidenceKind::kWorkersStarved, starvation.worker_share, "ratio",
         "SELECT pid, tid, thread, run_ns, starved_ns, starved_share FROM starved_threads ORDER BY "
         "starved_ns DESC"});
  }
}

}  // namespace

void measure_starvation(LoopReport& report, const StepStretches& parts, const Schedule& schedule,
                        const Counters& counters, const RecordedRun& recording) {
  Starvation& starvation = report.starvation;
  starvation.net = report.shares;
  const TimeRange range{report.steps[report.analysed.front()].start,
                        range_of(report.steps[report.analysed.back()]).end};
  const auto own = std::find_if(
      schedule.threads.begin(), schedule.threads.end(), [&](const WatchedSeries& series) {
        return series.thread.pid == report.pid && series.thread.tid == report.tid;
      });
  const bool sampled = own != schedule.threads.end() && own->readings >= 2;
  const auto& stretches = schedule.stretches_of(report.verdict.thread);
  if (stretches.empty() && !sampled) return;
  starvation.known = true;

  LoopSplit split = stretches.empty() ? split_evenly(report, parts, shares_in(*own, range))
                                      : split_loop(report, parts, stretches);
  Shares net{};
  starvation.loop_share = take_out_starved(report, split, net);
  starvation.net = net;

  const double steps = static_cast<double>(report.analysed.size());
  const std::array<ScheduleSplit*, kLoopPartCount> means = {
      &starvation.phases.input, &starvation.phases.forward, &starvation.phases.backward,
      &starvation.phases.optimizer, &starvation.phases.other};
  for (std::size_t i = 0; i < kLoopPartCount; ++i) {
    const ScheduleSplit& part = split.parts[i];
    *means[i] = {part.running / steps, part.starved / steps, part.blocked / steps};
  }
  InputUse& input = report.input;
  input.schedule_known = !input.inferred;
  const ScheduleSplit& waits = split.parts[index_of(LoopPart::kInput)];
  const double wait_ns = static_cast<double>(input.wait_ns);
  if (!input.inferred && waits.sum() > 0) {
    // The time that the thread worked, by its own CPU clock, stays.
    const double most = std::max(wait_ns - static_cast<double>(input.busy_ns), 0.0);
    input.starved_ns =
        static_cast<std::int64_t>(std::min(wait_ns * waits.starved / waits.sum(), most));
  }

  sort_threads(report, schedule, recording, range, starvation);
  if (report.device == DeviceId::kNone) {
    const double computes = 1 - share_of(report.shares, Category::kInput);
    starvation.pool_share = std::min(mean_starved(starvation.pool), computes);
  }
  if (!input.inferred) {
    starvation.worker_share = share_of(report.shares, Category::kInput) * input.blocked_share() *
                              mean_starved(starvation.workers);
  }
  starvation.share = std::min(
      std::max(starvation.loop_share, starvation.pool_share) + starvation.worker_share, 1.0);
  const double sampled_share = starvation.share - starvation.loop_share;
  double& net_input = starvation.net[static_cast<std::size_t>(Category::kInput)];
  net_input = std::max(net_input - starvation.worker_share, 0.0);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const double dur = static_cast<double>(to_ns(report.steps[i].dur));
    starvation.starved_ns.push_back(std::min(split.starved_ns[i] + sampled_share * dur, dur));
  }
  starvation.cores = measure_cores(report, schedule, counters, recording, range);
  for (auto* threads : {&starvation.workers, &starvation.pool})
    threads->resize(std::min(threads->size(), kMaxThreadsReported));
  add_evidence(report, starvation);
}

}  // namespace stepscope

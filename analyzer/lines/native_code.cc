#include "analyzer/lines/native_code.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "analyzer/lines/own_code.h"
#include "analyzer/steps/loop_parts.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

constexpr std::int64_t kEnoughOfStep = 25;  // periods, for a step to be split by its own samples
constexpr std::int64_t kEnoughOfLoop = 50;  // periods; with fewer, nothing is split
constexpr double kEnoughOfLibrary = 5;      // samples in steps with ops
constexpr std::size_t kMaxLibraries = 8;
constexpr std::chrono::seconds kLongestPeriod{1};  // a recorder's is far shorter

// The steps and the parts of a loop, for samples in the order of time.
class StepsByTime {
 public:
  StepsByTime(const std::vector<Step>& steps, const std::vector<Phase>& phases,
              const std::vector<LoopSegment>& segments)
      : steps_(steps), segments_(segments) {
    if (steps.empty()) return;
    stretches_ = loop_stretches(phases, {steps.front().start, steps.back().end()});
    for (const Phase& phase : phases) {
      if (phase.kind == PhaseKind::kScope)
        scopes_.push_back({phase.start, phase.start + phase.dur});
    }
  }

  // The step for which a sample counts; nullopt: it is in no step, in a segment, or in a wait for
  // input.
  [[nodiscard]] std::optional<std::size_t> at(SessionTime time) const {
    const auto after = std::ranges::upper_bound(steps_, time, {}, &Step::start);
    if (after == steps_.begin() || time >= std::prev(after)->end()) return std::nullopt;
    const auto stretch = std::ranges::partition_point(
        stretches_, [time](const LoopStretch& s) { return s.range.end <= time; });
    if (stretch == stretches_.end() || stretch->part == LoopPart::kInput) return std::nullopt;
    const auto holds = [time](const LoopSegment& segment) {
      return segment.start <= time && time < segment.start + segment.dur;
    };
    if (std::ranges::any_of(segments_, holds)) return std::nullopt;
    return static_cast<std::size_t>(std::prev(after) - steps_.begin());
  }

  // Whether `time` lies in a scope. `time` must not decrease from call to call.
  [[nodiscard]] bool in_scope(SessionTime time) {
    while (next_scope_ < scopes_.size() && scopes_[next_scope_].start <= time)
      scope_end_ = std::max(scope_end_, scopes_[next_scope_++].end);
    return time < scope_end_;
  }

 private:
  const std::vector<Step>& steps_;
  const std::vector<LoopSegment>& segments_;
  std::vector<LoopStretch> stretches_;
  std::vector<TimeRange> scopes_;
  std::size_t next_scope_ = 0;
  SessionTime scope_end_ = SessionTime::min();
};

// The part of a library's samples that lies outside ops, from the steps with ops.
class OutsideOps {
 public:
  void add(const NativeSamples::Found& sample) {
    for (Known* known : {&libraries_[sample.library], &all_})
      ++(sample.in_op ? known->inside : known->outside);
  }
  // 1 if there are no such samples.
  [[nodiscard]] double part(const std::string& library) const {
    const auto own = libraries_.find(library);
    const bool enough =
        own != libraries_.end() && own->second.inside + own->second.outside >= kEnoughOfLibrary;
    const Known& known = enough ? own->second : all_;
    return (known.outside + 1) / (known.inside + known.outside + 1);
  }

 private:
  struct Known {
    double inside = 0, outside = 0;  // samples
  };
  std::map<std::string, Known> libraries_;
  Known all_;
};

std::int64_t outside_input_ns(const Step& step) {
  return std::max<std::int64_t>(to_ns(step.dur) - exposed_ns(step, Category::kInput), 0);
}

// The time outside waits for input, starved time included, per unit of run time in it.
double time_for_each_run(const std::vector<Step>& steps, const StepsByTime& by_time,
                         const std::vector<ThreadStretch>& stretches) {
  constexpr double kMax = 20;   // beyond it there are few samples
  double ran = 0, starved = 0;  // ns
  for (const Step& step : steps) ran += static_cast<double>(outside_input_ns(step));
  for (const ThreadStretch& stretch : stretches) {
    if (!by_time.at(stretch.start + stretch.dur / 2)) continue;
    ran -= static_cast<double>(std::max<std::int64_t>(to_ns(stretch.dur - stretch.run), 0));
    starved += static_cast<double>(to_ns(stretch.starved));
  }
  if (starved <= 0) return 1;
  return starved < (kMax - 1) * ran ? 1 + starved / ran : kMax;
}

StepTime& compute_of(Step& step, PhaseKind phase, DeviceId device) {
  for (StepTime& time : step.times) {
    if (time.category == Category::kCompute && time.phase == phase && time.label.empty())
      return time;
  }
  return step.times.emplace_back(
      StepTime{Category::kCompute, phase, "", Duration(0), Duration(0), device});
}

// Turns `moved` of the step's host time into compute, the same part in each phase.
void make_compute(Step& step, std::int64_t moved) {
  const std::int64_t host = exposed_ns(step, Category::kHost);
  std::int64_t left = std::min(moved, host);
  const double part = host > 0 ? static_cast<double>(left) / static_cast<double>(host) : 0;
  const std::size_t count = step.times.size();  // compute_of() may add some
  for (std::size_t i = 0; i < count && left > 0; ++i) {
    if (step.times[i].category != Category::kHost) continue;
    const std::int64_t all = to_ns(step.times[i].exposed);
    const auto rounded_up = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(all)));
    const Duration taken(std::min({left, rounded_up, all}));
    step.times[i].exposed -= taken;
    compute_of(step, step.times[i].phase, step.times[i].device).exposed += taken;
    left -= to_ns(taken);
  }
}

}  // namespace

Result<NativeSamples> NativeSamples::read(const RecordedRun& recording) {
  NativeSamples samples(recording.facts.sampling.native_period);
  if (!recording.for_each_native_sample || samples.period_ <= Duration(0) ||
      samples.period_ > kLongestPeriod) {
    return samples;
  }
  const std::map<WatchedThreadId, ThreadId> recorded = recorded_threads(recording);
  std::map<StringId, std::string> libraries;
  const Status status = recording.for_each_native_sample([&](const NativeSample& sample) {
    const auto thread = recorded.find(sample.thread);
    if (thread == recorded.end()) return;
    const auto [library, is_new] = libraries.try_emplace(sample.library);
    if (is_new) library->second = native_library(recording.text(sample.library));
    samples.threads_[thread->second].push_back({sample.at, library->second});
  });
  if (!status.ok()) return status;
  for (auto& [thread, found] : samples.threads_) std::ranges::stable_sort(found, {}, &Found::at);
  return samples;
}

void NativeSamples::add(const Op& op) {
  const auto thread = threads_.find(op.thread);
  if (thread == threads_.end()) return;
  std::vector<Found>& found = thread->second;
  for (auto sample = std::ranges::lower_bound(found, op.start, {}, &Found::at);
       sample != found.end() && sample->at < op.start + op.dur; ++sample)
    sample->in_op = true;
}

const std::vector<NativeSamples::Found>& NativeSamples::of(ThreadId thread) const {
  static const std::vector<Found> kNone;
  const auto found = threads_.find(thread);
  return found == threads_.end() ? kNone : found->second;
}

NativeTime::NativeTime(const NativeSamples& samples, const std::vector<Phase>& phases,
                       const std::vector<ThreadStretch>& stretches, const LoopReport& report)
    : period_ns_(static_cast<double>(to_ns(samples.period()))), steps_(report.steps.size()) {
  if (report.steps.empty()) return;
  const ThreadId thread = report.steps.front().thread;
  if (samples.of(thread).empty()) return;
  StepsByTime by_time(report.steps, phases, report.segments);
  period_ns_ *= time_for_each_run(report.steps, by_time, stretches);
  std::vector<std::pair<std::size_t, const NativeSamples::Found*>> counted;
  OutsideOps outside;
  for (const NativeSamples::Found& sample : samples.of(thread)) {
    const auto step = by_time.at(sample.at);
    if (!step || by_time.in_scope(sample.at)) continue;
    counted.emplace_back(*step, &sample);
    if (report.steps[*step].ops_recorded) outside.add(sample);
  }
  for (const auto& [step, sample] : counted) {
    const bool known = report.steps[step].ops_recorded;
    const double part = known ? (sample->in_op ? 0 : 1) : outside.part(sample->library);
    steps_[step].native += part;
    libraries_[sample->library][step] += part;
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].periods = static_cast<double>(outside_input_ns(report.steps[i])) / period_ns_;
    if (steps_[i].periods >= kEnoughOfStep) continue;
    few_.periods += steps_[i].periods;
    few_.native += steps_[i].native;
  }
}

double NativeTime::share_of_step(std::size_t step) const {
  const Count& own = steps_[step];
  if (own.periods >= kEnoughOfStep) return own.native / own.periods;
  return few_.periods >= kEnoughOfLoop ? few_.native / few_.periods : 0;
}

void NativeTime::split_host_time(std::vector<Step>& steps) const {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double share = share_of_step(i);
    if (share > 0) {
      make_compute(steps[i], std::llround(share * static_cast<double>(outside_input_ns(steps[i]))));
    }
  }
}

std::vector<NativeShare> NativeTime::shares(const LoopReport& report) const {
  double time = 0, outside = 0;         // ns
  std::map<std::string, double> calls;  // ns; of runtimes, whose calls are marked
  for (const std::size_t i : report.analysed) {
    time += static_cast<double>(to_ns(report.steps[i].dur));
    outside += static_cast<double>(outside_input_ns(report.steps[i]));
    for (const StepTime& part : report.steps[i].times) {
      if (part.category == Category::kCompute && !part.label.empty())
        calls[part.label] += static_cast<double>(to_ns(part.exposed));
    }
  }
  std::vector<NativeShare> shares;
  if (time <= 0) return shares;
  for (const auto& [name, ns] : calls) shares.push_back({name, ns / time, 0});
  if (outside >= kEnoughOfLoop * period_ns_) {
    for (const auto& [name, by_step] : libraries_) {
      double own = 0;
      for (const std::size_t i : report.analysed) {
        const auto found = by_step.find(i);
        own += found == by_step.end() ? 0 : found->second;
      }
      const double share = own * period_ns_ / time;
      if (share > 0) shares.push_back({name, share, std::llround(own)});
    }
  }
  std::ranges::stable_sort(shares, std::ranges::greater(), &NativeShare::share);
  if (shares.size() > kMaxLibraries) shares.resize(kMaxLibraries);
  return shares;
}

}  // namespace stepscope

#include "analyzer/lines/find_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/lines/loop_functions.h"
#include "analyzer/process_tree.h"
#include "analyzer/steps/segment_ranges.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxLines = 20;   // of a place and category
constexpr double kMinShare = 0.005;     // of a line that is reported
constexpr double kMinForeign = 0.05;    // the same for a library's line
constexpr double kMostlyBlocked = 0.5;  // of a line's time, to report what it is blocked in
constexpr double kWaitsOnly = 0.95;     // of a thread's samples, to leave it out
constexpr std::size_t kMaxBlocks = 20;  // of steps, for the intervals
constexpr double kZ = 1.96;             // of a 95 % interval

// Whether samples come so late that they find a thread asleep more often than it really is.
bool samples_come_late(const SamplingFacts& sampling) {
  constexpr double kLatestInPeriods = 5;
  return sampling.rate > 0 && static_cast<double>(sampling.late_p99_ns) >
                                  kLatestInPeriods * 1e9 / static_cast<double>(sampling.rate);
}

const char* category_of(LoopPart part) {
  switch (part) {
    case LoopPart::kInput:
      return "input";
    case LoopPart::kForward:
      return "forward";
    case LoopPart::kBackward:
      return "backward";
    case LoopPart::kOptimizer:
      return "optimizer";
    case LoopPart::kOther:
      break;
  }
  return "host";
}

// A sample of one place and category.
struct Seen {
  OwnFrame frame;
  StringId blocked = StringId::kNone;
  std::size_t step = 0;

  [[nodiscard]] bool is_blocked() const { return blocked != StringId::kNone; }
};

struct LineTally {
  std::int64_t samples = 0;
  double share = 0;
  double running = 0;  // part of share
  std::vector<double> blocks;
  std::map<FrameId, double> innermost;  // where it was in libraries
  std::map<StringId, double> blocked;
};

template <typename Key>
std::optional<std::pair<Key, double>> largest(const std::map<Key, double>& shares) {
  const auto most =
      std::max_element(shares.begin(), shares.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == shares.end()) return std::nullopt;
  return *most;
}

// Divides the time of one place and category among lines.
class Division {
 public:
  // `blocked`: the part of that time in which the thread was blocked; nullopt if only the samples
  // show it.
  Division(const std::vector<Seen>& seen, std::optional<double> blocked, const OwnCode& code)
      : seen_(seen), code_(code) {
    for (const Seen& sample : seen) blocked_ += sample.is_blocked() ? 1 : 0;
    const double all = static_cast<double>(seen.size());
    const double asleep = static_cast<double>(blocked_);
    blocked_share_ = asleep / all;
    if (blocked && blocked_ > 0 && asleep < all) blocked_share_ = *blocked;
    set_blocks();
    for (const Seen& sample : seen) add(sample);
  }

  // The largest first; lines of libraries last.
  std::vector<LineShare> lines(ThreadId loop, LinePlace place, const char* category, double step_ns,
                               const RecordedRun& recording) const {
    std::vector<std::pair<bool, LineShare>> found;
    for (const auto& [key, tally] : tallies_) {
      const auto& [own, file, line, function] = key;
      if (tally.share < (own ? kMinShare : kMinForeign)) continue;
      LineShare share;
      share.thread = loop;
      share.place = place;
      share.category = category;
      share.file = recording.text(file);
      share.line = line;
      share.function = recording.text(function);
      share.inside = inside(tally, recording);
      share.blocked = blocked_in(tally, recording);
      share.samples = tally.samples;
      share.share = std::min(tally.share, 1.0);
      const double error = kZ * standard_error(tally);
      // If all samples agree, the standard error is 0, so bound the interval.
      const double surest =
          static_cast<double>(seen_.size()) / (static_cast<double>(seen_.size()) + kZ * kZ);
      share.ci_low = std::clamp(tally.share - error, 0.0, surest);
      share.ci_high = std::clamp(tally.share + error, 1 - surest, 1.0);
      share.step = Duration(std::llround(share.share * step_ns));
      found.emplace_back(own, std::move(share));
    }
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
      return std::tuple(!a.first, -a.second.share) < std::tuple(!b.first, -b.second.share);
    });
    std::vector<LineShare> lines;
    for (auto& [own, line] : found) {
      if (lines.size() < kMaxLines) lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  using Key = std::tuple<bool, StringId, std::int64_t, StringId>;  // own, file, line, function

  [[nodiscard]] double weight_of(const Seen& sample) const {
    const auto all = static_cast<std::int64_t>(seen_.size());
    return sample.is_blocked() ? blocked_share_ / static_cast<double>(blocked_)
                               : (1 - blocked_share_) / static_cast<double>(all - blocked_);
  }

  void set_blocks() {
    std::size_t last = 0;
    for (const Seen& sample : seen_) {
      first_step_ = std::min(first_step_, sample.step);
      last = std::max(last, sample.step);
    }
    steps_ = last - first_step_ + 1;
    blocks_.resize(std::min(kMaxBlocks, steps_));
  }
  [[nodiscard]] std::size_t block_of(const Seen& sample) const {
    return (sample.step - first_step_) * blocks_.size() / steps_;
  }

  void add(const Seen& sample) {
    const bool own = sample.frame.own != FrameId::kNone;
    const FrameId id = own ? sample.frame.own : sample.frame.innermost;
    const StackFrame& frame = code_.frame(id);
    LineTally& tally = tallies_[{own, frame.file, frame.line, frame.function}];
    const double weight = weight_of(sample);
    tally.blocks.resize(blocks_.size());
    ++tally.samples;
    tally.share += weight;
    tally.running += sample.is_blocked() ? 0 : weight;
    tally.blocks[block_of(sample)] += weight;
    blocks_[block_of(sample)] += weight;
    if (sample.frame.innermost != id) tally.innermost[sample.frame.innermost] += weight;
    if (sample.is_blocked()) tally.blocked[sample.blocked] += weight;
  }

  // From the number of samples of each kind, or from how the line's share differs between blocks of
  // steps, whichever is larger.
  [[nodiscard]] double standard_error(const LineTally& tally) const {
    const auto drawn = [](double share, double of, double count) {
      if (of <= 0 || count <= 0) return 0.0;
      const double part = std::clamp(share / of, 0.0, 1.0);
      return of * of * part * (1 - part) / count;
    };
    const auto asleep = static_cast<double>(blocked_);
    const double awake = static_cast<double>(seen_.size()) - asleep;
    const double by_count = drawn(tally.running, 1 - blocked_share_, awake) +
                            drawn(tally.share - tally.running, blocked_share_, asleep);
    const auto count = static_cast<double>(blocks_.size());
    if (count < 2) return std::sqrt(by_count);
    double squares = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      squares += std::pow(tally.blocks[i] - tally.share * blocks_[i], 2);
    return std::sqrt(std::max(by_count, squares * count / (count - 1)));
  }

  // Frames of the same function count as one.
  [[nodiscard]] std::string inside(const LineTally& tally, const RecordedRun& recording) const {
    std::map<std::pair<StringId, StringId>, double> functions;
    for (const auto& [id, share] : tally.innermost)
      functions[{code_.frame(id).file, code_.frame(id).function}] += share;
    const auto most = largest(functions);
    if (!most || most->second < kMostlyBlocked * tally.share) return "";
    const auto& [file, function] = most->first;
    return short_file(recording.text(file)) + " " + std::string(recording.text(function));
  }

  [[nodiscard]] static std::string blocked_in(const LineTally& tally,
                                              const RecordedRun& recording) {
    if (tally.share - tally.running < kMostlyBlocked * tally.share) return "";
    const auto most = largest(tally.blocked);
    return most ? std::string(recording.text(most->first)) : "";
  }

  const std::vector<Seen>& seen_;
  const OwnCode& code_;
  std::int64_t blocked_ = 0;  // samples
  double blocked_share_ = 0;
  std::size_t first_step_ = ~std::size_t{0};
  std::size_t steps_ = 1;
  std::vector<double> blocks_;
  std::map<Key, LineTally> tallies_;
};

// The steps of a loop for which lines are reported: the steady ones.
class SteadySteps {
 public:
  explicit SteadySteps(const LoopReport& report) : report_(report) {
    std::set<std::size_t> wanted(report.analysed.begin(), report.analysed.end());
    // If only a part of the run was analysed, that part; otherwise all steady steps, even those
    // that were not analysed.
    const std::size_t first = wanted.empty() ? 0 : *wanted.begin();
    const std::size_t last = wanted.empty() ? 0 : *wanted.rbegin();
    for (std::size_t i = first; i <= last && i < report.steps.size(); ++i)
      wanted_.push_back(report.steps[i].steady || wanted.contains(i));
    first_ = first;
  }

  // The index of the step at `time`, outside segments.
  [[nodiscard]] std::optional<std::size_t> at(SessionTime time) const {
    const auto after = std::partition_point(report_.steps.begin(), report_.steps.end(),
                                            [&](const Step& step) { return step.start <= time; });
    if (after == report_.steps.begin()) return std::nullopt;
    const auto index = static_cast<std::size_t>(after - report_.steps.begin()) - 1;
    if (index < first_ || index - first_ >= wanted_.size() || !wanted_[index - first_] ||
        time >= report_.steps[index].end() || in_segment(time, report_.segments)) {
      return std::nullopt;
    }
    return index;
  }

 private:
  const LoopReport& report_;
  std::size_t first_ = 0;
  std::vector<bool> wanted_;
};

std::int64_t blocked_samples(const std::vector<Seen>& seen) {
  return std::ranges::count_if(seen, &Seen::is_blocked);
}

// What the scheduler says about a part: the share of its time in which the thread was blocked. It
// is asked at marks, and no mark lies where the forward pass begins; so blocked samples divide the
// blocked time on both sides.
std::optional<double> blocked_share(const LoopReport& report, LoopPart part,
                                    const std::array<std::vector<Seen>, kLoopPartCount>& seen) {
  if (!report.starvation.known) return std::nullopt;
  const PhaseSchedule& phases = report.starvation.phases;
  const std::array<const ScheduleSplit*, kLoopPartCount> parts = {
      &phases.input, &phases.forward, &phases.backward, &phases.optimizer, &phases.other};
  const auto at = static_cast<std::size_t>(part);
  const ScheduleSplit& split = *parts[at];
  if (split.sum() <= 0) return std::nullopt;
  if (part != LoopPart::kForward && part != LoopPart::kOther) return split.blocked / split.sum();
  const std::int64_t own = blocked_samples(seen[at]);
  const std::int64_t both = blocked_samples(seen[static_cast<std::size_t>(LoopPart::kForward)]) +
                            blocked_samples(seen[static_cast<std::size_t>(LoopPart::kOther)]);
  if (both == 0) return 0;
  const double blocked = (phases.forward.blocked + phases.other.blocked) *
                         static_cast<double>(own) / static_cast<double>(both);
  return std::min(blocked / split.sum(), 1.0);
}

double mean_ns(const PhaseMeans& means, LoopPart part) {
  switch (part) {
    case LoopPart::kInput:
      return means.input;
    case LoopPart::kForward:
      return means.forward;
    case LoopPart::kBackward:
      return means.backward;
    case LoopPart::kOptimizer:
      return means.optimizer;
    case LoopPart::kOther:
      break;
  }
  return means.other;
}

// The lines divide only this share of the time of their category.
void take_share(std::vector<LineShare>& lines, double share) {
  if (!(share >= 0 && share < 1)) return;  // also if there is no such time
  for (LineShare& line : lines) {
    line.share *= share;
    line.ci_low *= share;
    line.ci_high *= share;
    line.step = Duration(std::llround(share * static_cast<double>(to_ns(line.step))));
  }
}

void append(std::vector<LineShare>& lines, std::vector<LineShare>&& more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

// The parts of steps as the hooks of a C++ program see them: what follows a batch is its forward
// pass, in which they take no stacks, up to the backward pass or the update. zero_grad does not end
// it.
StepStretches as_hooks_see(StepStretches parts) {
  for (std::vector<LoopStretch>& step : parts) {
    std::vector<bool> leads(step.size());  // to a forward or backward pass of the same batch
    bool later = false;
    for (std::size_t i = step.size(); i-- > 0;) {
      const LoopPart part = step[i].part;
      if (part == LoopPart::kInput) later = false;
      if (part == LoopPart::kForward || part == LoopPart::kBackward) later = true;
      leads[i] = later;
    }
    bool has_batch = false;
    for (std::size_t i = 0; i < step.size(); ++i) {
      LoopPart& part = step[i].part;
      const bool updates = part == LoopPart::kOptimizer && !leads[i];
      if (part == LoopPart::kInput) has_batch = true;
      if (part == LoopPart::kBackward || updates) has_batch = false;
      if (part == LoopPart::kOther && has_batch) part = LoopPart::kForward;
    }
  }
  return parts;
}

double length_of(LoopPart part, const StepStretches& parts, const LoopReport& report) {
  double ns = 0;
  for (const std::size_t i : report.analysed) {
    for (const LoopStretch& stretch : parts[i])
      ns += stretch.part == part ? static_cast<double>(to_ns(stretch.range.length())) : 0;
  }
  return ns;
}

void add_lines_of_loop(const RecordedRun& recording, const std::vector<StackSample>& samples,
                       const StepStretches& parts, const SteadySteps& steps, const OwnCode& code,
                       LoopReport& report) {
  const bool native = recording.facts.sampling.native > 0;
  const StepStretches seen_by_hooks = native ? as_hooks_see(parts) : StepStretches();
  const StepStretches& sampled = native ? seen_by_hooks : parts;
  std::array<std::vector<Seen>, kLoopPartCount> seen;
  LoopFunctions functions;
  for (const StackSample& sample : samples) {
    const auto step = steps.at(sample.at);
    if (!step) continue;
    const std::vector<LoopStretch>& stretches = sampled[*step];
    const auto stretch =
        std::partition_point(stretches.begin(), stretches.end(),
                             [&](const LoopStretch& s) { return s.range.end <= sample.at; });
    if (stretch == stretches.end()) continue;
    // The hooks take stacks outside the passes only. If the analysis finds a forward pass that they
    // did not see, a stack at its edge would stand for all of it.
    if (native && stretch->part != LoopPart::kInput && stretch->part != LoopPart::kOther) continue;
    seen[static_cast<std::size_t>(stretch->part)].push_back(
        {code.of(sample.frame), sample.blocked, *step});
    functions.add(stretch->part, sample.frame);
    ++report.line_use.loop_samples;
    ++report.line_use.by_category[category_of(stretch->part)];
  }
  for (const auto& [file, function] : functions.find(code))
    report.line_use.loop_functions.emplace(recording.text(file), recording.text(function));
  for (std::size_t i = 0; i < kLoopPartCount; ++i) {
    if (seen[i].empty()) continue;
    const auto part = static_cast<LoopPart>(i);
    const Division division(seen[i], blocked_share(report, part, seen), code);
    auto lines = division.lines(report.verdict.thread, LinePlace::kLoop, category_of(part),
                                mean_ns(report.phases, part), recording);
    if (native && part == LoopPart::kOther)
      take_share(lines, length_of(part, sampled, report) / length_of(part, parts, report));
    append(report.lines, std::move(lines));
  }
}

// Whether a thread only waits for others, in one place.
bool only_waits(const std::vector<StackSample>& samples, const RecordedRun& recording) {
  std::map<FrameId, std::int64_t> places;
  for (const StackSample& sample : samples) {
    const std::string_view call = recording.text(sample.blocked);
    const bool for_others = call.starts_with("futex") || call.starts_with("accept") ||
                            call.starts_with("poll") || call.starts_with("select") ||
                            call.starts_with("epoll_wait");
    if (for_others) ++places[sample.frame];
  }
  std::int64_t most = 0;
  for (const auto& [place, count] : places) most = std::max(most, count);
  return static_cast<double>(most) >= kWaitsOnly * static_cast<double>(samples.size());
}

// Whether none of the program's own code ran on a thread: it belongs to what runs the program, as
// the threads of a Jupyter kernel do.
bool runs_libraries_only(const std::vector<StackSample>& samples, const OwnCode& code) {
  return std::ranges::none_of(samples, [&code](const StackSample& sample) {
    return code.of(sample.frame).own != FrameId::kNone;
  });
}

void add_lines_of_workers(const RecordedRun& recording, const StackHistory& history,
                          const SteadySteps& steps, LoopReport& report) {
  std::vector<Seen> seen;
  const BatchMakers makers(recording, report);
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    const auto samples = history.samples().find(thread.id);
    if (samples == history.samples().end() || !makers.contains(thread) ||
        only_waits(samples->second, recording)) {
      continue;
    }
    const bool in_loops_process = thread.process == report.process;
    if (in_loops_process && runs_libraries_only(samples->second, history.code())) continue;
    for (const StackSample& sample : samples->second) {
      const auto step = sample.awaited ? steps.at(sample.at) : std::nullopt;
      if (step) seen.push_back({history.code().of(sample.frame), sample.blocked, *step});
    }
  }
  report.line_use.worker_samples = static_cast<std::int64_t>(seen.size());
  if (seen.empty()) return;
  const Division division(seen, std::nullopt, history.code());
  append(report.lines, division.lines(report.verdict.thread, LinePlace::kWorker, "input",
                                      report.phases.input, recording));
}

}  // namespace

BatchMakers::BatchMakers(const RecordedRun& recording, const LoopReport& report)
    : report_(report), processes_(ProcessTree(recording.processes).started_by(report.pid)) {}

bool BatchMakers::contains(const StoredWatchedThread& thread) const {
  const bool is_loop = thread.tid == report_.tid && thread.pid == report_.pid;
  return !is_loop && (thread.process == report_.process || processes_.contains(thread.process));
}

void find_lines(const RecordedRun& recording, const StepStretches& parts,
                const StackHistory& history, LoopReport& report) {
  const SamplingFacts& sampling = recording.facts.sampling;
  if (history.empty() || report.analysed.empty()) return;
  if (sampling.native == 0 && samples_come_late(sampling)) {
    report.line_use.withheld = true;
    return;
  }
  const SteadySteps steps(report);
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    if (thread.tid != report.tid || thread.pid != report.pid) continue;
    const auto samples = history.samples().find(thread.id);
    if (samples == history.samples().end()) continue;
    add_lines_of_loop(recording, samples->second, parts, steps, history.code(), report);
  }
  add_lines_of_workers(recording, history, steps, report);
}

}  // namespace stepscope

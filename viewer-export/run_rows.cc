#include "viewer-export/run_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "store/utf8.h"
#include "viewer-export/json_text.h"
#include "viewer-export/lanes.h"

namespace stepscope {
namespace {

// Where a stall becomes worth a word in a step's name: the analyzer's own threshold for
// "moderately", and for "highly".
constexpr double kModerateShare = 0.05;
constexpr double kHighShare = 0.20;

// Colour names of chrome://tracing, which knows no others. The Perfetto UI colours by name.
constexpr std::string_view kGood = "good";
constexpr std::string_view kBad = "bad";
constexpr std::string_view kTerrible = "terrible";
constexpr std::string_view kGrey = "grey";

std::string_view color_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kInput:
    case PhaseKind::kInputEnd:
      return kTerrible;
    case PhaseKind::kForward:
      return "rail_response";
    case PhaseKind::kBackward:
      return "rail_animation";
    case PhaseKind::kOptimizer:
      return "rail_load";
    case PhaseKind::kZeroGrad:
      return "grey";
    default:
      return {};
  }
}

std::string title_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kInput:
      return "input wait";
    case PhaseKind::kInputEnd:
      return "input exhausted";
    case PhaseKind::kZeroGrad:
      return "zero grad";
    default:
      return phase_name(kind);
  }
}

const char* title_of(SegmentKind kind) {
  return kind == SegmentKind::kBetweenEpochs ? "between epochs" : segment_name(kind);
}

TimeRange range_of(const Step& step) { return {step.start, step.end()}; }
TimeRange range_of(const LoopSegment& segment) {
  return {segment.start, segment.start + segment.dur};
}
TimeRange range_of(const Phase& phase) { return {phase.start, phase.start + phase.dur}; }

template <typename Event>
bool drawable(const Event& event) {
  return to_ns(event.start) >= 0 && event.dur >= Duration::zero();
}

// 0 for a step without a length.
double share_of(Duration part, Duration whole) {
  if (whole <= Duration::zero()) return 0;
  return static_cast<double>(to_ns(part)) / static_cast<double>(to_ns(whole));
}

using Exposed = std::array<Duration, kCategoryCount>;

// Exposed time by category, as each device saw it; one entry where none did.
std::map<DeviceId, Exposed> exposed_by_device(const Step& step) {
  std::map<DeviceId, Exposed> exposed;
  for (const StepTime& time : step.times) {
    exposed[time.device][static_cast<std::size_t>(time.category)] += time.exposed;
  }
  return exposed;
}

struct Stall {
  Category category = Category::kCompute;
  double share = 0;
};

// The largest category that is not the work itself, of the device that it hit most.
Stall largest_stall(const Step& step) {
  Stall stall;
  for (const auto& [device, exposed] : exposed_by_device(step)) {
    for (std::size_t i = 0; i < exposed.size(); ++i) {
      const auto category = static_cast<Category>(i);
      const double share = share_of(exposed[i], step.dur);
      if (category != Category::kCompute && share > stall.share) stall = {category, share};
    }
  }
  return stall;
}

Duration longest_input(const Step& step) {
  Duration longest{0};
  for (const auto& [device, exposed] : exposed_by_device(step))
    longest = std::max(longest, exposed[static_cast<std::size_t>(Category::kInput)]);
  return longest;
}

// " on cuda:1"
std::string device_suffix(const TraceReader& reader, DeviceId id) {
  for (const StoredDevice& device : reader.devices()) {
    if (device.id == id) return " on cuda:" + std::to_string(device.number);
  }
  return "";
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

// "compute/forward", "other:checkpoint"; of several devices "device_id 2: compute/forward".
std::string key_of(const StepTime& time, bool several_devices) {
  std::string key;
  if (several_devices)
    key = "device_id " + std::to_string(static_cast<std::uint32_t>(time.device)) + ": ";
  key += category_name(time.category);
  if (!time.label.empty()) return key + ':' + time.label;
  if (time.phase != PhaseKind::kNone) key += std::string("/") + phase_name(time.phase);
  return key;
}

std::string nanoseconds_json(const Step& step, Duration StepTime::* part) {
  std::map<std::string, std::int64_t> sums;
  const bool several = exposed_by_device(step).size() > 1;
  for (const StepTime& time : step.times) {
    if (time.*part != Duration::zero()) sums[key_of(time, several)] += to_ns(time.*part);
  }
  std::string json = "{";
  for (const auto& [key, ns] : sums) {
    if (json.size() > 1) json += ',';
    json += json_quoted(key) + ':' + json_integer(ns);
  }
  return json + '}';
}

std::string step_args(const Step& step) {
  const Duration input = longest_input(step);
  std::string json = "{\"step\":" + json_integer(step.number) +
                     ",\"marker\":" + json_quoted(marker_name(step.marker)) +
                     ",\"steady\":" + (step.steady ? "true" : "false") +
                     ",\"ops recorded\":" + (step.ops_recorded ? "true" : "false") +
                     ",\"share of input\":" + json_number(share_of(input, step.dur)) +
                     ",\"exposed ns\":" + nanoseconds_json(step, &StepTime::exposed);
  const std::string hidden = nanoseconds_json(step, &StepTime::hidden);
  if (hidden != "{}") json += ",\"hidden ns\":" + hidden;
  return json + '}';
}

std::string segment_args(const LoopSegment& segment) {
  return "{\"after step\":" + json_integer(segment.step) +
         ",\"batches\":" + json_integer(segment.batches) +
         ",\"share of input\":" + json_number(share_of(segment.input, segment.dur)) + '}';
}

std::string advice_json(const std::vector<Advice>& advice) {
  std::string json = "[";
  for (const Advice& each : advice) {
    if (json.size() > 1) json += ',';
    json += "{\"rule\":" + json_quoted(each.rule) + ",\"title\":" + json_quoted(each.title) +
            ",\"why\":" + json_quoted(each.why) +
            ",\"predicted_step_ns\":" + json_integer(each.predicted_step_ns) + "}";
  }
  return json + ']';
}

}  // namespace

std::string losses_json(const std::vector<Loss>& losses) {
  std::map<std::string, std::int64_t> by_kind;
  for (const Loss& loss : losses) by_kind[loss.kind] += loss.count;
  std::string json = "{";
  for (const auto& [kind, count] : by_kind) {
    if (json.size() > 1) json += ',';
    json += json_quoted(kind) + ':' + json_integer(count);
  }
  return json + '}';
}

std::string headline(const Verdict& verdict) {
  std::string text = in_capitals(verdict.degree);
  if (!text.empty()) text += ' ';
  text += in_capitals(verdict.kind);
  if (!verdict.sentence.empty()) text += " · " + verdict.sentence;
  return text;
}

std::string verdict_json(const Verdict& verdict) {
  return "{\"sentence\":" + json_quoted(verdict.sentence) +
         ",\"kind\":" + json_quoted(verdict.kind) + ",\"degree\":" + json_quoted(verdict.degree) +
         ",\"share\":" + json_number(verdict.share) + ",\"ci95\":[" + json_number(verdict.ci_low) +
         ',' + json_number(verdict.ci_high) +
         "],\"confidence\":" + json_quoted(verdict.confidence) +
         ",\"steps\":" + json_integer(verdict.steps) +
         ",\"advice\":" + advice_json(verdict.advice) + '}';
}

RunRows::RunRows(const TraceReader& reader, const Analysis& analysis,
                 const std::vector<Phase>& phases, const std::vector<Loss>& losses, const Cut& cut,
                 TrackMap& tracks)
    : reader_(reader), losses_(losses) {
  collect(analysis, phases, cut);
  add_rows(tracks);
}

RunRows::Loop& RunRows::loop_of(ThreadId thread) {
  const auto [known, added] = loop_at_.try_emplace(thread, loops_.size());
  if (added) loops_.emplace_back().thread = thread;
  return loops_[known->second];
}

void RunRows::collect(const Analysis& analysis, const std::vector<Phase>& phases, const Cut& cut) {
  for (const Verdict& verdict : analysis.verdicts)
    loop_of(verdict.thread).verdicts.push_back(&verdict);
  for (const Step& step : analysis.steps) {
    if (!cut.has(step.start)) continue;
    if (drawable(step)) {
      loop_of(step.thread).steps.push_back(&step);
    } else {
      ++skipped_;
    }
  }
  for (const LoopSegment& segment : analysis.segments) {
    if (!cut.has(segment.start)) continue;
    if (drawable(segment)) {
      loop_of(segment.thread).segments.push_back(&segment);
    } else {
      ++skipped_;
    }
  }
  std::map<ThreadId, NestedLanes> lanes;
  for (const Phase& phase : phases) {
    // The ends of steps are drawn as the steps themselves.
    const bool mark = phase.kind == PhaseKind::kStep && !analysis.steps.empty();
    if (mark || !cut.has(phase.start)) continue;
    if (!drawable(phase)) {
      ++skipped_;
      continue;
    }
    const TimeRange range = range_of(phase);
    const auto lane = lanes[phase.thread].place(range.start, range.end);
    if (!lane) {
      ++skipped_;
      continue;
    }
    Loop& loop = loop_of(phase.thread);
    loop.phases.push_back({&phase, *lane});
    loop.lanes = std::max(loop.lanes, *lane + 1);
  }
}

// The names of their threads, when there are several loops.
void RunRows::name_loops() {
  if (loops_.size() < 2) return;
  for (const StoredThread& thread : reader_.threads()) {
    const auto known = loop_at_.find(thread.id);
    if (known == loop_at_.end()) continue;
    const std::string name = thread.name.empty() ? "thread" : thread.name;
    loops_[known->second].suffix = " (" + name + ' ' + std::to_string(thread.tid) + ')';
  }
}

void RunRows::add_rows(TrackMap& tracks) {
  name_loops();
  for (Loop& loop : loops_) {
    for (const Verdict* verdict : loop.verdicts) {
      const std::string of =
          loop.verdicts.size() > 1 ? device_suffix(reader_, verdict->device) : "";
      loop.verdict_rows.push_back(tracks.add_row(loop.thread, "Verdict" + of + loop.suffix));
    }
    if (!loop.steps.empty() || !loop.segments.empty())
      loop.step_row = tracks.add_row(loop.thread, "Steps" + loop.suffix);
    for (std::size_t lane = 0; lane < loop.lanes; ++lane) {
      const std::string title = lane == 0 ? "Phases" : "Phases, overlapping";
      loop.phase_rows.push_back(tracks.add_row(loop.thread, title + loop.suffix));
    }
  }
  const bool verdict = !loops_.empty() && !loops_.front().verdicts.empty();
  if (!losses_.empty() && !verdict) loss_row_ = tracks.add_row(ThreadId::kNone, "Losses");
}

Annotation RunRows::step_annotation(const Step& step) const {
  const Stall stall = largest_stall(step);
  std::string name = "step " + std::to_string(step.number);
  if (stall.share >= kModerateShare) {
    name += std::string(" · ") + category_name(stall.category) + ' ' + percent(stall.share);
  }
  const std::string_view color = stall.share >= kHighShare       ? kTerrible
                                 : stall.share >= kModerateShare ? kBad
                                                                 : kGood;
  return {std::move(name), "step", color, range_of(step), step_args(step)};
}

Annotation RunRows::phase_annotation(const Phase& phase) const {
  const std::string text(reader_.text(phase.name));
  const bool scope = phase.kind == PhaseKind::kScope;
  std::string name = title_of(phase.kind);
  if (!text.empty()) name = scope ? text : name + ": " + text;
  std::string args = "{\"kind\":" + json_quoted(phase_name(phase.kind));
  if (phase.kind == PhaseKind::kInput || phase.cpu > Duration{0}) {  // else nobody measured it
    const double busy = std::min(1.0, share_of(phase.cpu, phase.dur));
    args +=
        ",\"cpu ns\":" + json_integer(to_ns(phase.cpu)) + ",\"busy share\":" + json_number(busy);
  }
  args += '}';
  return {std::move(name), scope ? "user_annotation" : "phase", color_of(phase.kind),
          range_of(phase), std::move(args)};
}

Annotation RunRows::loss_annotation(const TimeRange& range) const {
  std::int64_t count = 0;
  for (const Loss& loss : losses_) count += loss.count;
  return {"LOST: " + std::to_string(count) + " events were not recorded", "loss", kTerrible, range,
          losses_json(losses_)};
}

void RunRows::write_steps(EventWriter& writer) const {
  for (const Loop& loop : loops_) {
    const std::string time_name = "Step time" + loop.suffix;
    const std::string input_name = "Input wait" + loop.suffix;
    const std::int64_t pid = loop.step_row.pid;
    for (std::size_t i = 0; i < loop.steps.size(); ++i) {
      const Step& step = *loop.steps[i];
      const Duration input = longest_input(step);
      writer.annotation(step_annotation(step), loop.step_row);
      writer.counter(pid, time_name, "ms", step.start, static_cast<double>(to_ns(step.dur)) / 1e6);
      writer.counter(pid, input_name, "ms", step.start, static_cast<double>(to_ns(input)) / 1e6);
      // A counter keeps its value until told otherwise: between windows there is none.
      const SessionTime end = step.end();
      if (i + 1 < loop.steps.size() && loop.steps[i + 1]->start == end) continue;
      writer.counter(pid, time_name, "ms", end, 0);
      writer.counter(pid, input_name, "ms", end, 0);
    }
    for (const LoopSegment* segment : loop.segments) {
      writer.annotation(
          {title_of(segment->kind), "segment", kGrey, range_of(*segment), segment_args(*segment)},
          loop.step_row);
    }
  }
}

void RunRows::write_phases(EventWriter& writer) const {
  for (const Loop& loop : loops_) {
    for (const PlacedPhase& placed : loop.phases) {
      writer.annotation(phase_annotation(*placed.phase), loop.phase_rows[placed.lane]);
    }
  }
}

void RunRows::write_verdicts(EventWriter& writer, const TimeRange& whole) const {
  for (const Loop& loop : loops_) {
    if (loop.verdicts.empty()) continue;
    TimeRange range = whole;
    if (!loop.steps.empty()) {
      range = {loop.steps.front()->start, range_of(*loop.steps.back()).end};
    }
    for (std::size_t i = 0; i < loop.verdicts.size(); ++i) {
      const Verdict& verdict = *loop.verdicts[i];
      writer.annotation({headline(verdict), "verdict", {}, range, verdict_json(verdict)},
                        loop.verdict_rows[i]);
    }
    if (&loop == &loops_.front() && !losses_.empty()) {
      writer.annotation(loss_annotation(range), loop.verdict_rows.front());
    }
  }
  if (loss_row_.tid != 0) writer.annotation(loss_annotation(whole), loss_row_);
}

std::int64_t RunRows::step_count() const {
  std::size_t count = 0;
  for (const Loop& loop : loops_) count += loop.steps.size();
  return static_cast<std::int64_t>(count);
}

std::int64_t RunRows::phase_count() const {
  std::size_t count = 0;
  for (const Loop& loop : loops_) count += loop.phases.size();
  return static_cast<std::int64_t>(count);
}

std::optional<TimeRange> RunRows::extent() const {
  std::optional<TimeRange> extent;
  const auto cover = [&extent](const TimeRange& range) {
    if (!extent) extent = range;
    extent->start = std::min(extent->start, range.start);
    extent->end = std::max(extent->end, range.end);
  };
  for (const Loop& loop : loops_) {
    for (const Step* step : loop.steps) cover(range_of(*step));
    for (const PlacedPhase& placed : loop.phases) cover(range_of(*placed.phase));
  }
  return extent;
}

}  // namespace stepscope

#include "viewer-export/run_row_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "store/counted.h"
#include "store/loss_kinds.h"
#include "store/utf8.h"
#include "viewer-export/json_text.h"
#include "viewer-export/lanes.h"

namespace stepscope {
namespace {

// The shares from which on a stall shows in the name and the colour of a step: the analyzer's own
// thresholds for "moderately" and for "highly".
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
    case PhaseKind::kLost:
      return "marks lost";
    default:
      return phase_name(kind);
  }
}

const char* title_of(SegmentKind kind) {
  return kind == SegmentKind::kBetweenEpochs ? "between epochs" : segment_name(kind);
}

// 0 for a step without a length.
double share_of(Duration part, Duration whole) {
  if (whole <= Duration::zero()) return 0;
  return static_cast<double>(to_ns(part)) / static_cast<double>(to_ns(whole));
}

using Exposed = std::array<Duration, kCategoryCount>;

// Exposed time by category, as seen by each device; one entry if there is no device.
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

// The largest category other than compute, on the device where it is largest.
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

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

// "compute/forward", "other:checkpoint"; with several devices "device_id 2: compute/forward".
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

Duration longest_input(const Step& step) {
  Duration longest{0};
  for (const auto& [device, exposed] : exposed_by_device(step))
    longest = std::max(longest, exposed[static_cast<std::size_t>(Category::kInput)]);
  return longest;
}

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

Annotation step_annotation(const Step& step) {
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

Annotation phase_annotation(const Phase& phase, std::string_view name_of_phase) {
  const std::string text(name_of_phase);
  const bool scope = phase.kind == PhaseKind::kScope;
  std::string name = title_of(phase.kind);
  if (!text.empty()) name = scope ? text : name + ": " + text;
  std::string args = "{\"kind\":" + json_quoted(phase_name(phase.kind));
  if (phase.kind == PhaseKind::kInput || phase.cpu > Duration{0}) {  // else it was not measured
    const double busy = std::min(1.0, share_of(phase.cpu, phase.dur));
    args +=
        ",\"cpu ns\":" + json_integer(to_ns(phase.cpu)) + ",\"busy share\":" + json_number(busy);
  }
  args += '}';
  return {std::move(name), scope ? "user_annotation" : "phase", color_of(phase.kind),
          range_of(phase), std::move(args)};
}

Annotation loss_annotation(const std::vector<Loss>& losses, const TimeRange& range) {
  const std::int64_t events = lost_events(losses);
  std::int64_t processes = -events;
  for (const Loss& loss : losses) processes += loss.count;
  std::string name = "LOST:";
  if (events > 0) name += ' ' + counted(events, "event was", "events were") + " not recorded";
  if (events > 0 && processes > 0) name += ';';
  if (processes > 0)
    name += ' ' + counted(processes, "process was", "processes were") + " not fully recorded";
  return {std::move(name), "loss", kTerrible, range, losses_json(losses)};
}

Annotation segment_annotation(const LoopSegment& segment) {
  return {title_of(segment.kind), "segment", kGrey, range_of(segment), segment_args(segment)};
}

Annotation verdict_annotation(const Verdict& verdict, const TimeRange& range) {
  return {headline(verdict), "verdict", {}, range, verdict_json(verdict)};
}

}  // namespace stepscope

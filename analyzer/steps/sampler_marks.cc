#include "analyzer/steps/sampler_marks.h"

#include <algorithm>

namespace stepscope {
namespace {

std::vector<TimeRange> marks_of(const std::vector<Phase>& phases) {
  std::vector<TimeRange> marks;
  for (const Phase& phase : phases) {
    if (phase.kind != PhaseKind::kSampler) continue;
    // A sampler asked another one.
    if (!marks.empty() && phase.start < marks.back().end) continue;
    marks.push_back({phase.start, end_of(phase)});
  }
  return marks;
}

// The longest pause between marks of one group.
Duration longest_pause(const std::vector<TimeRange>& marks) {
  std::vector<Duration> distances;
  for (std::size_t i = 1; i < marks.size(); ++i)
    distances.push_back(marks[i].start - marks[i - 1].start);
  if (distances.empty()) return Duration(0);
  const auto high = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() * 9 / 10);
  std::nth_element(distances.begin(), high, distances.end());
  const double part = kBackToBackShare * static_cast<double>(high->count());
  return std::min(kBackToBack, Duration(static_cast<std::int64_t>(part)));
}

}  // namespace

SamplerMarks sampler_marks(const std::vector<Phase>& phases) {
  const auto marks = marks_of(phases);
  const Duration pause = longest_pause(marks);
  SamplerMarks result;
  for (const TimeRange& mark : marks) {
    if (!result.groups.empty() && mark.start - result.groups.back().range.end <= pause) {
      result.groups.back().range.end = mark.end;
      ++result.groups.back().marks;
    } else {
      result.groups.push_back({mark, 1});
    }
  }
  result.ahead = !result.groups.empty() && result.groups.front().marks > 1;
  return result;
}

std::vector<TimeRange> sampler_steps(const std::vector<Phase>& phases) {
  const SamplerMarks marks = sampler_marks(phases);
  std::vector<TimeRange> steps;
  for (std::size_t i = 0; i + 1 < marks.groups.size(); ++i) {
    const SessionTime begin = marks.groups[i].range.start;
    if (marks.awaits_first(i)) ++i;  // its mark ends the wait that the burst began
    if (i + 1 < marks.groups.size()) steps.push_back({begin, marks.groups[i + 1].range.start});
  }
  return steps;
}

SamplerInput::SamplerInput(const std::vector<Phase>& phases)
    : marks_(sampler_marks(phases)),
      last_end_(marks_.groups.size(), SessionTime::min()),
      first_start_(marks_.groups.size(), SessionTime::max()),
      first_weight_(marks_.groups.size(), SessionTime::max()) {}

void SamplerInput::add(const Op& op, bool uses_weight) {
  const SessionTime end = op.start + op.dur;
  const auto next = std::partition_point(
      marks_.groups.begin(), marks_.groups.end(),
      [&op](const SamplerMarks::Group& group) { return group.range.end <= op.start; });
  const auto index = static_cast<std::size_t>(next - marks_.groups.begin());
  if (index > 0) {
    first_start_[index - 1] = std::min(first_start_[index - 1], op.start);
    if (uses_weight) first_weight_[index - 1] = std::min(first_weight_[index - 1], op.start);
  }
  if (index < last_end_.size() && end <= next->range.start)
    last_end_[index] = std::max(last_end_[index], end);
}

// Empty if nothing is known.
TimeRange SamplerInput::wait_at(std::size_t group) const {
  const TimeRange mark = marks_.groups[group].range;
  if (!marks_.ahead) {
    const bool seen = first_weight_[group] != SessionTime::max();
    const SessionTime work = seen ? first_weight_[group] : first_start_[group];
    return {mark.start, work == SessionTime::max() ? mark.start : work};
  }
  if (marks_.awaits_first(group)) return {mark.start, mark.start};
  const bool after_burst = group > 0 && marks_.awaits_first(group - 1);
  if (after_burst || marks_.is_burst(group)) {
    const SessionTime begin = after_burst ? marks_.groups[group - 1].range.start : mark.start;
    const SessionTime from = after_burst ? std::max(last_end_[group], begin) : begin;
    const bool recorded = first_start_[group] != SessionTime::max();
    return {from, recorded ? mark.end : from};
  }
  const bool recorded = last_end_[group] != SessionTime::min();
  return {recorded ? last_end_[group] : mark.end, mark.end};
}

InferredInput SamplerInput::finish(ThreadId thread) const {
  InferredInput input;
  input.by_fetches = !marks_.ahead;
  for (std::size_t i = 0; i < marks_.groups.size(); ++i) {
    const TimeRange wait = wait_at(i);
    if (wait.length() <= Duration(0)) continue;
    input.begins.push_back(wait.start);
    input.pieces.push_back(
        {thread, PhaseKind::kInput, StringId::kNone, wait.start, wait.length(), Duration(0)});
  }
  return input;
}

}  // namespace stepscope

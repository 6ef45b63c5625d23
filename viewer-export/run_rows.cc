#include "viewer-export/run_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "store/utf8.h"
#include "viewer-export/json_text.h"
#include "viewer-export/lanes.h"
#include "viewer-export/run_row_texts.h"

namespace stepscope {
namespace {

template <typename Event>
bool drawable(const Event& event) {
  return to_ns(event.start) >= 0 && event.dur >= Duration::zero();
}

// " on cuda:1"
std::string device_suffix(const TraceReader& reader, DeviceId id) {
  for (const StoredDevice& device : reader.devices()) {
    if (device.id == id) return " on cuda:" + std::to_string(device.number);
  }
  return "";
}

}  // namespace

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

// If there are several loops, distinguishes them by the names of their threads.
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
      // A counter keeps its value until the next one, so set it to 0 between windows.
      const SessionTime end = step.end();
      if (i + 1 < loop.steps.size() && loop.steps[i + 1]->start == end) continue;
      writer.counter(pid, time_name, "ms", end, 0);
      writer.counter(pid, input_name, "ms", end, 0);
    }
    for (const LoopSegment* segment : loop.segments) {
      writer.annotation(segment_annotation(*segment), loop.step_row);
    }
  }
}

void RunRows::write_phases(EventWriter& writer) const {
  for (const Loop& loop : loops_) {
    for (const PlacedPhase& placed : loop.phases) {
      writer.annotation(phase_annotation(*placed.phase, reader_.text(placed.phase->name)),
                        loop.phase_rows[placed.lane]);
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
      writer.annotation(verdict_annotation(*loop.verdicts[i], range), loop.verdict_rows[i]);
    }
    if (&loop == &loops_.front() && !losses_.empty()) {
      writer.annotation(loss_annotation(losses_, range), loop.verdict_rows.front());
    }
  }
  if (loss_row_.tid != 0) writer.annotation(loss_annotation(losses_, whole), loss_row_);
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

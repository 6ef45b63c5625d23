#include "analyzer/simulate/step_sampler.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

Lane lane_of(Helper helper) {
  switch (helper) {
    case Helper::kAutograd:
      return kAutogradLane;
    case Helper::kCollective:
      return kCollectiveLane;
    case Helper::kNone:
      break;
  }
  return kNoLane;
}

bool same_kind(const Task& a, const Task& b) {
  return a.lane == b.lane && a.kind == b.kind && a.category == b.category && a.phase == b.phase &&
         a.path == b.path && a.label == b.label && b.awaits == kNoLane &&
         a.start_ns + a.dur_ns == b.start_ns;
}

}  // namespace

bool StepSampler::in_sample(std::size_t ordinal) const {
  return (ordinal / kBlockSteps) % stride_ == 0 && ordinal % kBlockSteps < of_block_;
}

bool StepSampler::takes_too_much() const {
  const std::size_t steps = sample_.steps.size();
  return steps >= kMaxSteps || tasks_ > (steps > kFewSteps ? most_tasks_ : hard_limit());
}

OpPaths* StepSampler::paths_for(std::size_t step, bool ops_recorded) {
  if (step != current_) begin_step(step, ops_recorded);
  return taking_ ? &sample_.paths : nullptr;
}

void StepSampler::end_step() {
  if (taking_) tasks_ += sample_.steps.back().tasks.size();
  taking_ = false;
  while (takes_too_much()) thin_out();
}

void StepSampler::begin_step(std::size_t step, bool ops_recorded) {
  end_step();
  current_ = step;
  if (sample_.too_large || !eligible_(step, ops_recorded)) return;
  const std::size_t ordinal = next_ordinal_++;
  taking_ = in_sample(ordinal);
  if (!taking_) return;
  sample_.steps.push_back({step, {}, {}});
  ordinals_.push_back(ordinal);
  state_ = {};
  waits_for_ = kNoLane;
  std::fill(std::begin(helper_runs_), std::end(helper_runs_), false);
}

std::size_t StepSampler::blocks() const {
  return ordinals_.empty() ? 0 : ordinals_.back() / kBlockSteps / stride_ + 1;
}

void StepSampler::thin_out() {
  if (of_block_ > 1 && blocks() < 2 * kMinBlocks) {
    of_block_ /= 2;
  } else if (blocks() > 1) {
    stride_ *= 2;
  } else {
    sample_.too_large = true;
  }
  std::vector<SampledStep> kept;
  std::vector<std::size_t> kept_ordinals;
  tasks_ = 0;
  for (std::size_t i = 0; i < ordinals_.size(); ++i) {
    if (sample_.too_large || !in_sample(ordinals_[i])) continue;
    tasks_ += sample_.steps[i].tasks.size();
    kept.push_back(std::move(sample_.steps[i]));
    kept_ordinals.push_back(ordinals_[i]);
  }
  sample_.steps = std::move(kept);
  ordinals_ = std::move(kept_ordinals);
}

void StepSampler::on_frame(std::size_t, const Frame& frame) {
  SampledStep& step = sample_.steps.back();
  if (step.tasks.empty()) step.range.start = frame.range.start;
  step.range.end = frame.range.end;
  for_each_instant(frame, state_, [this](const Instant& instant, TimeRange range) {
    // A step with more tasks than the limit is dropped at its end; until then it need not grow.
    if (sample_.steps.back().tasks.size() <= hard_limit()) add_instant(instant, range);
  });
  end_wait(frame.range.end, waited_);
}

void StepSampler::add_instant(const Instant& instant, TimeRange range) {
  const Segment segment = categorise(instant);
  const Lane helper = lane_of(waits_for(instant));
  // A helper begins, or goes on after a pause, because the loop's thread got there, perhaps after
  // waiting for another helper.
  const bool begins = (works(instant.autograd) && !helper_runs_[kAutogradLane]) ||
                      (works(instant.collective) && !helper_runs_[kCollectiveLane]);
  if (waits_for_ != helper || begins) end_wait(range.start, waited_);
  if (helper == kNoLane) {
    const OpPath path = works(instant.own) ? instant.own->path : OpPath::kTop;
    add_piece(kLoopLane, range, segment, path, kNoLane);
  }
  const auto add_helper = [&](Lane lane, const OpRun* run) {
    if (works(run)) {
      Segment piece = segment;
      piece.category = run->category;
      piece.label = StringId::kNone;
      add_piece(lane, range, piece, run->path, helper_runs_[lane] ? kNoLane : kLoopLane);
    }
    helper_runs_[lane] = works(run);
  };
  add_helper(kAutogradLane, instant.autograd);
  add_helper(kCollectiveLane, instant.collective);
  waits_for_ = helper;
  waited_ = segment;
}

void StepSampler::add_piece(Lane lane, TimeRange range, const Segment& segment, OpPath path,
                            Lane awaits) {
  std::vector<Task>& tasks = sample_.steps.back().tasks;
  Task task;
  task.start_ns = to_ns(range.start);
  task.dur_ns = to_ns(range.length());
  task.path = path;
  task.label = segment.label;
  task.lane = lane;
  task.awaits = awaits;
  task.category = segment.category;
  task.phase = segment.phase;
  if (!tasks.empty() && same_kind(tasks.back(), task)) {
    tasks.back().dur_ns += task.dur_ns;
  } else {
    tasks.push_back(task);
  }
}

// The loop's thread goes on: it has waited for everything that the helper has done so far.
void StepSampler::end_wait(SessionTime now, const Segment& segment) {
  if (waits_for_ == kNoLane) return;
  Task wait;
  wait.start_ns = to_ns(now);
  wait.kind = TaskKind::kWait;
  wait.awaits = waits_for_;
  wait.category = segment.category;
  wait.phase = segment.phase;
  sample_.steps.back().tasks.push_back(wait);
  waits_for_ = kNoLane;
}

StepSample StepSampler::finish() {
  end_step();
  return std::move(sample_);
}

}  // namespace stepscope

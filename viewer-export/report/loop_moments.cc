#include "viewer-export/report/loop_moments.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

std::optional<SampleMoment> moment_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kInput:
    case PhaseKind::kInputEnd:
      return SampleMoment::kInput;
    case PhaseKind::kForward:
      return SampleMoment::kForward;
    case PhaseKind::kBackward:
      return SampleMoment::kBackward;
    case PhaseKind::kOptimizer:
    case PhaseKind::kZeroGrad:
      return SampleMoment::kOptimizer;
    default:
      return std::nullopt;
  }
}

const std::vector<const Step*>& steps_of(const ReportLoop& loop) {
  return loop.analysed.empty() ? loop.steps : loop.analysed;
}

}  // namespace

const char* moment_name(SampleMoment moment) {
  switch (moment) {
    case SampleMoment::kInput:
      return "input";
    case SampleMoment::kForward:
      return "forward";
    case SampleMoment::kBackward:
      return "backward";
    case SampleMoment::kOptimizer:
      return "optimizer";
    case SampleMoment::kOther:
      return "other";
    case SampleMoment::kOutside:
      return "outside";
    case SampleMoment::kAwaited:
      return "awaited";
    case SampleMoment::kNotAwaited:
      break;
  }
  return "not_awaited";
}

LoopMoments::LoopMoments(const ReportLoop& loop, const std::vector<Phase>& phases)
    : steps_(steps_of(loop)), segments_(loop.segments) {
  // By thread, and then start.
  next_ = std::partition_point(phases.begin(), phases.end(),
                               [&](const Phase& phase) { return phase.thread < loop.thread; });
  end_ = std::partition_point(next_, phases.end(),
                              [&](const Phase& phase) { return phase.thread == loop.thread; });
}

// The time between a batch and the backward pass or update that it leads to is its forward pass.
void LoopMoments::pass_phases(SessionTime until) {
  while (!open_.empty() && open_.back()->start + open_.back()->dur <= until) {
    const PhaseKind kind = open_.back()->kind;
    if (kind == PhaseKind::kInput) {
      between_ = SampleMoment::kForward;
    } else if (kind != PhaseKind::kZeroGrad && kind != PhaseKind::kForward) {
      between_ = SampleMoment::kOther;
    }
    open_.pop_back();
  }
}

bool LoopMoments::in_a_step(SessionTime time) {
  while (step_ < steps_.size() && steps_[step_]->end() <= time) ++step_;
  if (step_ == steps_.size() || time < steps_[step_]->start) return false;
  while (segment_ < segments_.size() &&
         segments_[segment_]->start + segments_[segment_]->dur <= time) {
    ++segment_;
  }
  return segment_ == segments_.size() || time < segments_[segment_]->start;
}

SampleMoment LoopMoments::at(SessionTime time) {
  for (; next_ != end_ && next_->start <= time; ++next_) {
    if (!moment_of(next_->kind)) continue;
    pass_phases(next_->start);
    open_.push_back(&*next_);
  }
  pass_phases(time);
  if (!in_a_step(time)) return SampleMoment::kOutside;
  return open_.empty() ? between_ : *moment_of(open_.back()->kind);
}

}  // namespace stepscope

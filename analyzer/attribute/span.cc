#include "analyzer/attribute/span.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

#include "analyzer/attribute/nesting.h"

namespace stepscope {
namespace {

TimeRange range_of(const Phase& phase) { return {phase.start, end_of(phase)}; }

bool covers(const Phase& phase, TimeRange step) {
  return phase.start <= step.start && end_of(phase) >= step.end;
}

// So many phases that are no scopes may lie around a step; of more, those that began last count.
constexpr std::size_t kMostAround = 64;

// Hands out the phases of a thread step by step.
class PhasesByStep {
 public:
  explicit PhasesByStep(const std::vector<Phase>& phases) : phases_(phases) {}

  // Those that touch `step`, in order, without scopes that cover it. Steps come in order.
  std::vector<Phase> touching(TimeRange step) {
    std::vector<std::size_t> found;
    std::erase_if(around_, [&](std::size_t i) { return end_of(phases_[i]) <= step.start; });
    found = around_;
    // A scope that goes on beyond the step covers it, for it began before.
    for (; !scopes_.empty() && scopes_.top().first < step.end; scopes_.pop()) {
      if (scopes_.top().first > step.start) found.push_back(scopes_.top().second);
    }
    for (; next_ < phases_.size() && phases_[next_].start < step.end; ++next_) {
      if (end_of(phases_[next_]) <= step.start) continue;
      if (!is_covering_scope(phases_[next_], step)) found.push_back(next_);
      keep(next_, step);
    }
    if (around_.size() > kMostAround)
      around_.erase(around_.begin(), around_.end() - static_cast<std::ptrdiff_t>(kMostAround));
    std::sort(found.begin(), found.end());
    std::vector<Phase> result;
    for (const std::size_t i : found) result.push_back(phases_[i]);
    return result;
  }

 private:
  static bool is_covering_scope(const Phase& phase, TimeRange step) {
    return phase.kind == PhaseKind::kScope && covers(phase, step);
  }
  void keep(std::size_t i, TimeRange step) {
    const SessionTime end = end_of(phases_[i]);
    if (phases_[i].kind == PhaseKind::kScope && end >= step.end) {
      scopes_.emplace(end, i);
    } else if (end > step.end) {
      around_.push_back(i);
    }
  }

  using ScopeEnd = std::pair<SessionTime, std::size_t>;
  const std::vector<Phase>& phases_;
  std::size_t next_ = 0;             // the first that no step has reached
  std::vector<std::size_t> around_;  // that go on beyond the last step, in order
  std::priority_queue<ScopeEnd, std::vector<ScopeEnd>, std::greater<>> scopes_;  // the same
};

// What the open phases make of an instant. Waiting for input counts wherever it is; else the
// innermost says what is done.
class OpenPhases {
 public:
  explicit OpenPhases(const std::vector<Phase>& phases) : phases_(phases) {}

  void begin(std::size_t index) {
    switch (phases_[index].kind) {
      case PhaseKind::kInput:
      case PhaseKind::kInputEnd:
        inputs_.add(index);
        break;
      case PhaseKind::kScope:
        scopes_.add(index);
        break;
      case PhaseKind::kZeroGrad:
      case PhaseKind::kOptimizer:
      case PhaseKind::kForward:
      case PhaseKind::kBackward:
        work_.add(index);
        break;
      case PhaseKind::kNone:
      case PhaseKind::kStep:
      case PhaseKind::kSampler:
        break;
    }
  }
  Span span(TimeRange range, const OpenItems& open) {
    Span span{range, PhaseKind::kNone, false, StringId::kNone};
    const std::size_t scope = scopes_.of(open), work = work_.of(open);
    if (scope != Innermost::kNone) span.label = phases_[scope].name;
    if (work != Innermost::kNone) span.phase = phases_[work].kind;
    if (inputs_.of(open) != Innermost::kNone) span.phase = PhaseKind::kInput;
    return span;
  }

 private:
  const std::vector<Phase>& phases_;
  Innermost inputs_, scopes_, work_;
};

std::vector<Span> tile_step(const std::vector<Phase>& phases, TimeRange step) {
  std::vector<Span> spans;
  SessionTime covered = step.start;
  const auto fill_to = [&](SessionTime end) {
    if (covered < end) spans.push_back({{covered, end}, PhaseKind::kNone, false, StringId::kNone});
  };
  OpenPhases current(phases);
  for_each_nested_stretch(
      std::span<const Phase>(phases), step, range_of,
      [&](std::size_t phase, const OpenItems&) { current.begin(phase); },
      [&](TimeRange range, const OpenItems& open) {
        fill_to(range.start);
        spans.push_back(current.span(range, open));
        covered = range.end;
      });
  fill_to(step.end);
  return spans;
}

// Forward is what leads to a backward pass: unmarked time with a backward pass as the next marked
// thing (zero_grad may come in between). In a loop that never trains it is all that follows the
// input.
void mark_before_backward(std::vector<Span>& spans, bool trains) {
  bool leads_to_backward = !trains;
  for (std::size_t i = spans.size(); i-- > 0;) {
    if (spans[i].phase == PhaseKind::kNone) {
      spans[i].before_backward = leads_to_backward;
    } else if (spans[i].phase == PhaseKind::kBackward) {
      leads_to_backward = true;
    } else if (trains && spans[i].phase != PhaseKind::kZeroGrad) {
      leads_to_backward = false;
    }
  }
}

// The optimizer steps around the backward passes of a step, which come in order.
class ClosureOptimizers {
 public:
  void add(const Phase& optimizer) {
    // One that ends no later than one before it is never the first around anything.
    if (open_.empty() || end_of(optimizer) > end_of(*open_.back())) open_.push_back(&optimizer);
  }
  // The first that lies around `backward`; null: none does.
  [[nodiscard]] const Phase* around(const Phase& backward) const {
    const auto first = std::partition_point(
        open_.begin(), open_.end(),
        [&](const Phase* optimizer) { return end_of(*optimizer) < end_of(backward); });
    return first == open_.end() ? nullptr : *first;
  }

 private:
  std::vector<const Phase*> open_;  // by start, and by end
};

// What begins in [begin, end) of the optimizer step is the forward pass of its closure.
void mark_forward(std::vector<Span>& spans, SessionTime begin, SessionTime end) {
  auto span = std::partition_point(spans.begin(), spans.end(),
                                   [begin](const Span& s) { return s.range.start < begin; });
  for (; span != spans.end() && span->range.end <= end; ++span) {
    if (span->phase != PhaseKind::kOptimizer) continue;
    span->phase = PhaseKind::kNone;
    span->before_backward = true;
  }
}

// Inside an optimizer step that runs a closure, what lies between the step's start (or the
// closure's zero_grad) and the backward pass is the closure's forward pass. Behind another backward
// pass it is the optimizer's own work.
void mark_closures(std::vector<Span>& spans, const std::vector<Phase>& phases) {
  ClosureOptimizers optimizers;
  const Phase* before = nullptr;  // the last backward pass or zero_grad that began earlier
  std::size_t passed = 0;
  std::size_t known = 0;
  for (const Phase& backward : phases) {
    if (backward.kind != PhaseKind::kBackward) continue;
    for (; passed < phases.size() && phases[passed].start < backward.start; ++passed) {
      const PhaseKind kind = phases[passed].kind;
      if (kind == PhaseKind::kBackward || kind == PhaseKind::kZeroGrad) before = &phases[passed];
    }
    for (; known < phases.size() && phases[known].start <= backward.start; ++known) {
      if (phases[known].kind == PhaseKind::kOptimizer) optimizers.add(phases[known]);
    }
    const Phase* const optimizer = optimizers.around(backward);
    if (optimizer == nullptr) continue;
    if (before == nullptr || before->start < optimizer->start) {
      mark_forward(spans, optimizer->start, backward.start);
    } else if (before->kind == PhaseKind::kZeroGrad) {
      mark_forward(spans, end_of(*before), backward.start);
    }
  }
}

}  // namespace

std::vector<std::vector<Span>> lay_out_spans(const std::vector<Phase>& phases, const Loop& loop) {
  std::vector<std::vector<Span>> result;
  PhasesByStep by_step(phases);
  for (const TimeRange step : loop.steps) {
    const auto own = by_step.touching(step);
    auto spans = tile_step(own, step);
    mark_before_backward(spans, loop.trains);
    mark_closures(spans, own);
    for (Span& span : spans) {
      if (span.phase == PhaseKind::kZeroGrad) span.phase = PhaseKind::kOptimizer;
    }
    result.push_back(std::move(spans));
  }
  return result;
}

}  // namespace stepscope

#include "analyzer/attribute/span.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

#include "analyzer/attribute/closures.h"
#include "analyzer/attribute/nesting.h"
#include "analyzer/steps/segment_ranges.h"

namespace stepscope {
namespace {

TimeRange range_of(const Phase& phase) { return {phase.start, end_of(phase)}; }

bool covers(const Phase& phase, TimeRange step) {
  return phase.start <= step.start && end_of(phase) >= step.end;
}

// How many phases other than scopes may lie around a step. If there are more, those that began last
// count.
constexpr std::size_t kMaxAround = 64;

// Returns the phases of a thread step by step.
class PhasesByStep {
 public:
  explicit PhasesByStep(const std::vector<Phase>& phases) : phases_(phases) {}

  // The phases that touch `step`, in order, without scopes that cover it. Steps come in order.
  std::vector<Phase> touching(TimeRange step) {
    std::vector<std::size_t> found;
    std::erase_if(around_, [&](std::size_t i) { return end_of(phases_[i]) <= step.start; });
    found = around_;
    // A scope that goes on beyond the step covers it, because it began earlier.
    for (; !scopes_.empty() && scopes_.top().first < step.end; scopes_.pop()) {
      if (scopes_.top().first > step.start) found.push_back(scopes_.top().second);
    }
    for (; next_ < phases_.size() && phases_[next_].start < step.end; ++next_) {
      if (end_of(phases_[next_]) <= step.start) continue;
      if (!is_covering_scope(phases_[next_], step)) found.push_back(next_);
      keep(next_, step);
    }
    if (around_.size() > kMaxAround)
      around_.erase(around_.begin(), around_.end() - static_cast<std::ptrdiff_t>(kMaxAround));
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
  std::size_t next_ = 0;             // the first phase that no step has reached
  std::vector<std::size_t> around_;  // phases that go on beyond the last step, in order
  std::priority_queue<ScopeEnd, std::vector<ScopeEnd>, std::greater<>> scopes_;  // scopes that do
};

// Derives the state of an instant from the open phases. Waiting for input always counts; otherwise
// the innermost phase decides.
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
      case PhaseKind::kOpsBegin:
      case PhaseKind::kOpsEnd:
      case PhaseKind::kLost:
        break;
    }
  }
  Span span(TimeRange range, const OpenItems& open) {
    Span span{range, PhaseKind::kNone, false, StringId::kNone};
    const std::size_t scope = scopes_.of(open), work = work_.of(open);
    if (scope != Innermost::kNone) span.label = phases_[scope].name;
    if (work != Innermost::kNone) span.phase = phases_[work].kind;
    // The closure of an optimizer step runs what the loop itself runs elsewhere.
    if (span.phase == PhaseKind::kForward) span.phase = PhaseKind::kNone;
    if (inputs_.of(open) != Innermost::kNone) span.phase = PhaseKind::kInput;
    return span;
  }

 private:
  const std::vector<Phase>& phases_;
  Innermost inputs_, scopes_, work_;
};

// Cuts segments out of the spans of a step.
std::vector<Span> outside_segments(const std::vector<Span>& spans,
                                   const std::vector<LoopSegment>& segments) {
  std::vector<Span> rest;
  for (const Span& span : spans) {
    for (const TimeRange part : outside_of(span.range, segments)) {
      rest.push_back(span);
      rest.back().range = part;
    }
  }
  return rest;
}

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

// The forward pass is what leads to a backward pass: unmarked time that is followed by a backward
// pass (zero_grad may come in between, and a wait for the next batch if the loop waits there). In a
// loop that never trains, it is everything after the input. If the loop waits before its backward
// pass, the next step begins with that wait, after the forward pass.
void mark_before_backward(std::vector<Span>& spans, bool trains, bool waits_before_backward) {
  bool leads_to_backward = !trains || waits_before_backward;
  bool may_wait = false;
  for (std::size_t i = spans.size(); i-- > 0;) {
    const PhaseKind phase = spans[i].phase;
    if (phase == PhaseKind::kNone) {
      spans[i].before_backward = leads_to_backward;
    } else if (phase == PhaseKind::kBackward) {
      leads_to_backward = true;
      may_wait = waits_before_backward;
    } else if (phase == PhaseKind::kInput && may_wait) {
      may_wait = i > 0 && spans[i - 1].phase == PhaseKind::kInput;  // the rest of this wait
    } else if (trains && phase != PhaseKind::kZeroGrad) {
      leads_to_backward = false;
    }
  }
}

}  // namespace

std::vector<std::vector<Span>> lay_out_spans(const std::vector<Phase>& phases, const Loop& loop) {
  std::vector<std::vector<Span>> result;
  PhasesByStep by_step(phases);
  const bool waits = waits_before_backward(phases);
  for (const TimeRange step : loop.steps) {
    const auto own = by_step.touching(step);
    auto spans = tile_step(own, step);
    if (!loop.segments.empty()) spans = outside_segments(spans, loop.segments);
    mark_before_backward(spans, loop.trains, waits);
    mark_unmarked_closures(spans, own);
    for (Span& span : spans) {
      if (span.phase == PhaseKind::kZeroGrad) span.phase = PhaseKind::kOptimizer;
    }
    result.push_back(std::move(spans));
  }
  return result;
}

}  // namespace stepscope

#include "analyzer/attribute/span.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analyzer/attribute/nesting.h"

namespace stepscope {
namespace {

TimeRange range_of(const Phase& phase) { return {phase.start, end_of(phase)}; }

bool covers(const Phase& phase, TimeRange step) {
  return phase.start <= step.start && end_of(phase) >= step.end;
}

// The phases that touch `step`, in order. Those before *from can touch no later step either.
std::vector<Phase> touching(const std::vector<Phase>& phases, TimeRange step,
                            std::vector<Phase>& carried, std::size_t& from) {
  std::vector<Phase> result;
  std::erase_if(carried, [&](const Phase& p) { return end_of(p) <= step.start; });
  for (; from < phases.size() && phases[from].start < step.end; ++from) {
    if (end_of(phases[from]) > step.start) carried.push_back(phases[from]);
  }
  std::copy_if(carried.begin(), carried.end(), std::back_inserter(result),
               [&](const Phase& p) { return !(p.kind == PhaseKind::kScope && covers(p, step)); });
  return result;
}

// What the open phases, the innermost last, make of an instant. Waiting for input counts wherever
// it is.
Span state_of(const std::vector<Phase>& phases, const std::vector<std::size_t>& open,
              TimeRange range) {
  Span span{range, PhaseKind::kNone, false, StringId::kNone};
  for (const std::size_t index : open) {
    const Phase& phase = phases[index];
    switch (phase.kind) {
      case PhaseKind::kInput:
      case PhaseKind::kInputEnd:
        span.phase = PhaseKind::kInput;
        break;
      case PhaseKind::kScope:
        span.label = phase.name;
        break;
      case PhaseKind::kZeroGrad:
      case PhaseKind::kOptimizer:
      case PhaseKind::kForward:
      case PhaseKind::kBackward:
        if (span.phase != PhaseKind::kInput) span.phase = phase.kind;
        break;
      case PhaseKind::kNone:
      case PhaseKind::kStep:
      case PhaseKind::kSampler:
        break;
    }
  }
  return span;
}

std::vector<Span> tile_step(const std::vector<Phase>& phases, TimeRange step) {
  std::vector<Span> spans;
  SessionTime covered = step.start;
  const auto fill_to = [&](SessionTime end) {
    if (covered < end) spans.push_back({{covered, end}, PhaseKind::kNone, false, StringId::kNone});
  };
  for_each_nested_stretch(std::span<const Phase>(phases), step, range_of,
                          [&](TimeRange range, const std::vector<std::size_t>& open) {
                            fill_to(range.start);
                            spans.push_back(state_of(phases, open, range));
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

// Inside an optimizer step that runs a closure, what lies between the step's start (or the
// closure's zero_grad) and the backward pass is the closure's forward pass.
void mark_closures(std::vector<Span>& spans, const std::vector<Phase>& phases) {
  for (const Phase& backward : phases) {
    if (backward.kind != PhaseKind::kBackward) continue;
    const auto inside = [&](const Phase& p) {
      return p.kind == PhaseKind::kOptimizer && p.start <= backward.start &&
             end_of(p) >= end_of(backward);
    };
    const auto optimizer = std::find_if(phases.begin(), phases.end(), inside);
    if (optimizer == phases.end()) continue;
    SessionTime begin = optimizer->start;
    bool known = true;
    for (const Phase& p : phases) {
      if (p.start < optimizer->start || p.start >= backward.start) continue;
      if (p.kind == PhaseKind::kBackward) known = false;  // the optimizer's own work follows it
      if (p.kind == PhaseKind::kZeroGrad) known = true;
      if (p.kind == PhaseKind::kBackward || p.kind == PhaseKind::kZeroGrad) begin = end_of(p);
    }
    if (!known) continue;
    for (Span& span : spans) {
      if (span.phase != PhaseKind::kOptimizer || span.range.start < begin) continue;
      if (span.range.end > backward.start) continue;
      span.phase = PhaseKind::kNone;
      span.before_backward = true;
    }
  }
}

}  // namespace

std::vector<std::vector<Span>> lay_out_spans(const std::vector<Phase>& phases, const Loop& loop) {
  std::vector<std::vector<Span>> result;
  std::vector<Phase> carried;
  std::size_t from = 0;
  for (const TimeRange step : loop.steps) {
    const auto own = touching(phases, step, carried, from);
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

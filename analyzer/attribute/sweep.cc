#include "analyzer/attribute/sweep.h"

#include <utility>

#include "analyzer/attribute/cursor.h"

namespace stepscope {
namespace {

PhaseKind phase_of(const Instant& instant) {
  const Span& span = *instant.span;
  if (span.phase != PhaseKind::kNone || !span.before_backward) return span.phase;
  return instant.forward_begun ? PhaseKind::kForward : PhaseKind::kNone;
}

// Without recorded ops, the phases of the step stand for them.
bool phase_counts_as_work(const Instant& instant, PhaseKind phase) {
  return !instant.ops_recorded && phase != PhaseKind::kNone;
}

// A collective runs on its own thread. If the loop thread has nothing else to do, it waits for the
// collective: at the end of a backward pass, or because it has just called the collective.
bool waits_for_collective(const Instant& instant, PhaseKind phase) {
  return works(instant.collective) && (phase == PhaseKind::kBackward || instant.after_collective);
}

}  // namespace

Helper waits_for(const Instant& instant) {
  const PhaseKind phase = phase_of(instant);
  if (phase == PhaseKind::kInput || works(instant.own)) return Helper::kNone;
  if (phase == PhaseKind::kBackward && works(instant.autograd)) return Helper::kAutograd;
  return waits_for_collective(instant, phase) ? Helper::kCollective : Helper::kNone;
}

Segment categorise(const Instant& instant) {
  Segment segment;
  segment.phase = phase_of(instant);
  if (works(instant.own)) segment.op = instant.own->op;
  if (segment.phase == PhaseKind::kInput) {
    segment.category = Category::kInput;
  } else if (works(instant.own)) {
    segment.category = instant.own->category;
  } else if (const Helper helper = waits_for(instant); helper == Helper::kAutograd) {
    segment.category = instant.autograd->category;
    segment.op = instant.autograd->op;
  } else if (helper == Helper::kCollective) {
    segment.category = Category::kCommunication;
    segment.op = instant.collective->op;
  } else if (instant.own != nullptr) {  // in a user range
    segment.category = Category::kOther;
    segment.label = instant.own->label;
  } else if (phase_counts_as_work(instant, segment.phase)) {
    segment.category = Category::kCompute;
  } else if (instant.span->label != StringId::kNone) {
    segment.category = Category::kOther;
    segment.label = instant.span->label;
  }
  return segment;
}

void for_each_instant(const Frame& frame, SweepState& state,
                      const std::function<void(const Instant&, TimeRange)>& visit) {
  Cursor<Span> spans(frame.spans);
  Cursor<OpRun> own(frame.own);
  Cursor<OpRun> autograd(frame.autograd);
  Cursor<OpRun> collectives(frame.collectives);
  for (SessionTime now = frame.range.start; now < frame.range.end;) {
    SessionTime next = frame.range.end;
    Instant instant;
    instant.span = spans.at(now, next);
    instant.own = own.at(now, next);
    instant.autograd = autograd.at(now, next);
    instant.collective = collectives.at(now, next);
    instant.ops_recorded = frame.ops_recorded;
    if (!instant.span->before_backward) {
      state.forward_begun = false;
    } else if (works(instant.own) || !frame.ops_recorded) {
      state.forward_begun = true;
    }
    if (works(instant.own))
      state.after_collective = instant.own->category == Category::kCommunication;
    instant.forward_begun = state.forward_begun;
    instant.after_collective = state.after_collective;
    visit(instant, {now, next});
    now = next;
  }
}

void sweep(const Frame& frame, SweepState& state, const SegmentSink& sink) {
  for_each_instant(frame, state, [&](const Instant& instant, TimeRange range) {
    Segment segment = categorise(instant);
    segment.range = range;
    sink(segment);
  });
}

std::vector<OpRun> merge_runs(const std::vector<std::vector<OpRun>>& threads) {
  std::vector<OpRun> merged;
  for (const std::vector<OpRun>& thread : threads) {
    Cursor<OpRun> first{std::span<const OpRun>(merged)};
    Cursor<OpRun> second{std::span<const OpRun>(thread)};
    std::vector<OpRun> both;
    for (SessionTime now = SessionTime::min();;) {
      SessionTime next = SessionTime::max();
      const OpRun* a = first.at(now, next);
      const OpRun* b = second.at(now, next);
      if (next == SessionTime::max()) break;
      if (const OpRun* run = a != nullptr ? a : b; run != nullptr) {
        both.push_back(*run);
        both.back().range = {now, next};
      }
      now = next;
    }
    merged = std::move(both);
  }
  return merged;
}

}  // namespace stepscope

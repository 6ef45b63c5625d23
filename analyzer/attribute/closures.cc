#include "analyzer/attribute/closures.h"

#include <algorithm>
#include <cstddef>

#include "analyzer/steps/find_loops.h"

namespace stepscope {
namespace {

// The optimizer steps of a loop's step in which no closure is marked.
class UnmarkedOptimizers {
 public:
  void add(const Phase& optimizer) {
    // An optimizer step that ends no later than an earlier one is never the first around a pass.
    if (open_.empty() || end_of(optimizer) > end_of(*open_.back())) open_.push_back(&optimizer);
  }
  // The first optimizer step around `backward`; null: there is none.
  [[nodiscard]] const Phase* around(const Phase& backward) const {
    const auto first = std::partition_point(
        open_.begin(), open_.end(),
        [&](const Phase* optimizer) { return end_of(*optimizer) < end_of(backward); });
    return first == open_.end() ? nullptr : *first;
  }

 private:
  std::vector<const Phase*> open_;  // by start, and by end
};

// Where the marked closures begin, in order.
std::vector<SessionTime> closure_marks(const std::vector<Phase>& phases) {
  std::vector<SessionTime> marks;
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kForward) marks.push_back(phase.start);
  }
  return marks;
}

bool has_mark(const std::vector<SessionTime>& marks, const Phase& optimizer) {
  const auto mark = std::lower_bound(marks.begin(), marks.end(), optimizer.start);
  return mark != marks.end() && *mark < end_of(optimizer);
}

// Marks what begins in [begin, end) of the optimizer step as the forward pass of its closure.
void mark_forward(std::vector<Span>& spans, SessionTime begin, SessionTime end) {
  auto span = std::partition_point(spans.begin(), spans.end(),
                                   [begin](const Span& s) { return s.range.start < begin; });
  for (; span != spans.end() && span->range.end <= end; ++span) {
    if (span->phase != PhaseKind::kOptimizer) continue;
    span->phase = PhaseKind::kNone;
    span->before_backward = true;
  }
}

}  // namespace

void mark_unmarked_closures(std::vector<Span>& spans, const std::vector<Phase>& phases) {
  const std::vector<SessionTime> marks = closure_marks(phases);
  UnmarkedOptimizers optimizers;
  const Phase* optimizer = nullptr;  // the one around the last backward pass
  const Phase* backward = nullptr;   // the last backward pass
  const Phase* zero_grad = nullptr;  // the last that began
  bool clears_first = true;          // whether the closure of `optimizer` does
  std::size_t known = 0;
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kZeroGrad) zero_grad = &phase;
    if (phase.kind != PhaseKind::kBackward) continue;
    for (; known < phases.size() && phases[known].start <= phase.start; ++known) {
      const Phase& other = phases[known];
      if (other.kind == PhaseKind::kOptimizer && !has_mark(marks, other)) optimizers.add(other);
    }
    const Phase* const around = optimizers.around(phase);
    if (around == nullptr) continue;
    const bool first = around != optimizer;
    const SessionTime since = first ? around->start : end_of(*backward);
    const bool cleared = zero_grad != nullptr && zero_grad->start >= since;
    if (first) {
      clears_first = !cleared || zero_grad->start - since <= phase.start - end_of(*zero_grad);
      mark_forward(spans, cleared && clears_first ? end_of(*zero_grad) : since, phase.start);
    } else if (cleared) {
      mark_forward(spans, clears_first ? end_of(*zero_grad) : since, phase.start);
    }
    optimizer = around;
    backward = &phase;
  }
}

}  // namespace stepscope

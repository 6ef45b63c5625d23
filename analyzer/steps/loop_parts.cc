#include "analyzer/steps/loop_parts.h"

#include <algorithm>
#include <optional>

#include "analyzer/steps/closures.h"

namespace stepscope {
namespace {

std::optional<LoopPart> part_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kInput:
    case PhaseKind::kInputEnd:
      return LoopPart::kInput;
    case PhaseKind::kForward:
      return LoopPart::kForward;
    case PhaseKind::kBackward:
      return LoopPart::kBackward;
    case PhaseKind::kOptimizer:
    case PhaseKind::kZeroGrad:
      return LoopPart::kOptimizer;
    default:
      return std::nullopt;
  }
}

// An update in a backward pass (a hook of a parameter that steps its own optimizer) is a part of
// its own. `stretches`: the pass, or its rest, is the last one.
void split_backward(std::vector<LoopStretch>& stretches, const Phase& phase, LoopPart part) {
  LoopStretch& pass = stretches.back();
  const TimeRange inner{phase.start, phase.start + phase.dur};
  const bool inside = inner.start >= pass.range.start && inner.end <= pass.range.end;
  if (part != LoopPart::kOptimizer || pass.part != LoopPart::kBackward || !inside) return;
  const LoopStretch rest{{inner.end, pass.range.end}, LoopPart::kBackward, true, false};
  pass.range.end = inner.start;
  stretches.push_back({inner, part, true, false});
  stretches.push_back(rest);
}

}  // namespace

LoopPart part_with(PhaseKind phase) { return part_of(phase).value_or(LoopPart::kOther); }

void add_stretch(std::vector<LoopStretch>& stretches, TimeRange range, PhaseKind phase,
                 bool estimated) {
  if (range.start >= range.end) return;
  const LoopPart part = part_with(phase);
  const bool marked = part != LoopPart::kForward && part != LoopPart::kOther;
  if (!stretches.empty()) {
    LoopStretch& last = stretches.back();
    const bool continues =
        last.range.end == range.start && last.part == part && last.estimated == estimated;
    if (continues) last.range.end = range.end;
    if (continues) return;
  }
  stretches.push_back({range, part, marked, estimated});
}

std::vector<LoopStretch> loop_stretches(const std::vector<Phase>& phases, TimeRange range) {
  std::vector<LoopStretch> stretches;
  SessionTime at = range.start;
  LoopPart between = LoopPart::kOther;
  for (const Phase& phase : without_closures(phases)) {
    const auto part = part_of(phase.kind);
    if (part && phase.start < at && !stretches.empty()) split_backward(stretches, phase, *part);
    if (!part || phase.start < at) continue;
    if (phase.start >= range.end) break;
    stretches.push_back({{at, phase.start}, between, false, false});
    if (phase.kind == PhaseKind::kForward) {  // a closure: its backward pass is marked inside
      at = phase.start;
      between = LoopPart::kForward;
      continue;
    }
    at = std::min(phase.start + phase.dur, range.end);
    stretches.push_back({{phase.start, at}, *part, true, false});
    if (phase.kind == PhaseKind::kInput) {
      between = LoopPart::kForward;
    } else if (phase.kind != PhaseKind::kZeroGrad) {
      between = LoopPart::kOther;
    }
  }
  stretches.push_back({{at, range.end}, between, false, false});
  return stretches;
}

}  // namespace stepscope

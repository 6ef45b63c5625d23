#include "analyzer/steps/pauses.h"

#include <algorithm>
#include <iterator>

#include "analyzer/steps/segment_marks.h"

namespace stepscope {
namespace {

bool trains(const Phase& phase) {
  return phase.kind == PhaseKind::kBackward || phase.kind == PhaseKind::kOptimizer ||
         phase.kind == PhaseKind::kZeroGrad || phase.kind == PhaseKind::kForward;
}

// The stretches between and around the outermost phases that train.
std::vector<Pause> pauses_of(const std::vector<Phase>& phases) {
  std::vector<Pause> pauses;
  SessionTime from = phases.front().start, last = from;
  for (const Phase& phase : phases) {
    last = std::max(last, end_of(phase));
    if (!trains(phase)) continue;
    if (from < phase.start) pauses.push_back({{from, phase.start}, {}, {}, {}, {}});
    from = std::max(from, end_of(phase));
  }
  if (from < last) pauses.push_back({{from, last}, {}, {}, {}, {}});
  return pauses;
}

// Adds each of `marks`, which are by start, to the pause in which it wholly lies.
void add_marks(std::vector<Pause>& pauses, const std::vector<Phase>& marks,
               std::vector<Phase> Pause::* list) {
  auto pause = pauses.begin();
  for (const Phase& mark : marks) {
    while (pause != pauses.end() && pause->range.end <= mark.start) ++pause;
    if (pause == pauses.end()) return;
    if (pause->range.start <= mark.start && end_of(mark) <= pause->range.end)
      (*pause.*list).push_back(mark);
  }
}

std::vector<Phase> of_kind(const std::vector<Phase>& phases, PhaseKind kind) {
  std::vector<Phase> found;
  std::copy_if(phases.begin(), phases.end(), std::back_inserter(found),
               [kind](const Phase& phase) { return phase.kind == kind; });
  return found;
}

// Adds the starts of the waits for the batches of an evaluation in `mode`. A trainer may call
// train() only after it has fetched the next training batches. Waits after the end of a loader are
// for these. If there is no such end and no other wait in the pause, the last wait is for them. For
// a model that never returns to training (a frozen teacher), only the end of its loader counts.
void add_evaluation_waits(const Pause& pause, const ModeRange& mode, std::set<SessionTime>& waits) {
  const TimeRange range{mode.from, mode.to.value_or(pause.range.end)};
  const auto begin =
      std::partition_point(pause.waits.begin(), pause.waits.end(),
                           [&](const Phase& wait) { return wait.start < range.start; });
  const auto end = std::partition_point(begin, pause.waits.end(),
                                        [&](const Phase& wait) { return wait.start < range.end; });
  if (begin == end) return;
  auto last = end;
  while (last != begin && std::prev(last)->kind != PhaseKind::kInputEnd) --last;
  const bool others = begin != pause.waits.begin() || end != pause.waits.end();
  if (last == begin && mode.to) last = others ? end : std::prev(end);
  for (auto wait = begin; wait != last; ++wait) waits.insert(wait->start);
}

}  // namespace

std::vector<Pause> marked_pauses(const std::vector<Phase>& phases,
                                 const std::vector<Phase>& modes) {
  std::vector<Pause> pauses = pauses_of(phases);
  add_marks(pauses, outermost(phases, PhaseKind::kInput, PhaseKind::kInputEnd), &Pause::waits);
  add_marks(pauses, of_kind(phases, PhaseKind::kScope), &Pause::scopes);
  add_marks(pauses, of_kind(phases, PhaseKind::kSampler), &Pause::draws);
  add_marks(pauses, modes, &Pause::modes);
  return pauses;
}

bool is_usual(std::size_t with, std::size_t of) {
  constexpr std::size_t kFew = 4;
  return of >= kFew && with * 2 > of;
}

std::vector<Phase>::const_iterator first_wait(const Pause& pause, SessionTime time) {
  return std::partition_point(pause.waits.begin(), pause.waits.end(),
                              [time](const Phase& wait) { return end_of(wait) <= time; });
}

std::vector<ModeRange> evaluation_modes(const Pause& pause, const TextOf& text) {
  std::vector<ModeRange> ranges;
  for (const Phase& mode : pause.modes) {
    const bool open = !ranges.empty() && !ranges.back().to;
    const bool trains = text(mode.name) == kTrainMark;
    if (trains && open) ranges.back().to = mode.start;
    if (!trains && !open) ranges.push_back({mode.start, std::nullopt});
  }
  return ranges;
}

std::set<SessionTime> evaluation_waits(const std::vector<Pause>& pauses, const TextOf& text) {
  std::set<SessionTime> waits;
  std::size_t with_waits = 0, with_evaluation = 0;
  for (const Pause& pause : pauses) {
    const std::size_t before = waits.size();
    SessionTime covered = SessionTime::min();
    for (const Phase& scope : pause.scopes) {
      if (scope.start < covered) continue;
      if (segment_of_scope(text(scope.name)) != SegmentKind::kEvaluation) continue;
      covered = end_of(scope);
      for (auto wait = first_wait(pause, scope.start);
           wait != pause.waits.end() && wait->start < end_of(scope); ++wait)
        waits.insert(wait->start);
    }
    for (const ModeRange& mode : evaluation_modes(pause, text))
      add_evaluation_waits(pause, mode, waits);
    with_waits += pause.waits.empty() ? 0U : 1U;
    with_evaluation += waits.size() > before ? 1U : 0U;
  }
  if (is_usual(with_evaluation, with_waits)) waits.clear();
  return waits;
}

std::vector<Phase> without_waits(const std::vector<Phase>& phases,
                                 const std::set<SessionTime>& waits) {
  std::vector<Phase> rest;
  std::copy_if(phases.begin(), phases.end(), std::back_inserter(rest), [&](const Phase& phase) {
    const bool is_wait = phase.kind == PhaseKind::kInput || phase.kind == PhaseKind::kInputEnd;
    return !is_wait || !waits.contains(phase.start);
  });
  return rest;
}

}  // namespace stepscope

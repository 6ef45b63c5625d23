#include "analyzer/steps/segments.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/median.h"
#include "analyzer/steps/accumulation.h"
#include "analyzer/steps/pauses.h"
#include "analyzer/steps/segment_marks.h"
#include "analyzer/steps/segment_ranges.h"

namespace stepscope {
namespace {

using KindCounts = std::array<int, kSegmentKindCount>;

struct Piece {
  SegmentKind kind = SegmentKind::kEvaluation;
  TimeRange range;
};

std::vector<Phase> modes_of(const RecordedRun& recording, ThreadId thread) {
  std::vector<Phase> modes;
  std::copy_if(recording.modes.begin(), recording.modes.end(), std::back_inserter(modes),
               [thread](const Phase& mode) { return mode.thread == thread; });
  return modes;
}

class SegmentFinder {
 public:
  SegmentFinder(const std::vector<Phase>& phases, const std::vector<Phase>& modes, const Loop& loop,
                const TextOf& text)
      : loop_(loop), text_(text), pauses_(marked_pauses(phases, modes)) {
    const auto training = without_waits(phases, evaluation_waits(pauses_, text));
    for (const Phase& wait : trained_waits(training, waits_of_steps(training)))
      trained_.insert(wait.start);
    goes_on_to_wait_ = !waits_before_backward(phases);
    find_usual();
  }

  std::vector<LoopSegment> segments() const {
    std::vector<std::vector<Piece>> found;
    std::array<std::size_t, kSegmentKindCount> pauses_with{};
    for (const Pause& pause : pauses_) {
      found.push_back(pieces_of(pause));
      std::set<SegmentKind> kinds;
      for (const Piece& piece : found.back()) kinds.insert(piece.kind);
      for (const SegmentKind kind : kinds) ++pauses_with[static_cast<std::size_t>(kind)];
    }
    std::vector<LoopSegment> segments;
    for (std::size_t i = 0; i < pauses_.size(); ++i) {
      std::erase_if(found[i], [&](const Piece& piece) {
        return is_usual(pauses_with[static_cast<std::size_t>(piece.kind)], loop_.steps.size());
      });
      add(pauses_[i], found[i], segments);
    }
    return segments;
  }

 private:
  [[nodiscard]] bool is_trained(const Phase& wait) const { return trained_.contains(wait.start); }

  // How long the loop usually takes from its last training to its next wait, and how many batches a
  // sampler usually chooses in a pause.
  void find_usual() {
    std::vector<Duration> leads;
    std::vector<std::size_t> draws;
    for (const Pause& pause : pauses_) {
      if (!pause.draws.empty()) draws.push_back(pause.draws.size());
      if (pause.waits.empty() || !is_trained(pause.waits.front())) continue;
      leads.push_back(pause.waits.front().start - pause.range.start);
    }
    if (!leads.empty()) usual_lead_ = upper_median(leads);
    if (!draws.empty()) usual_draws_ = upper_median(draws);
  }

  // Where the pause waits for the first training batch from `time` on; nothing if it does not.
  [[nodiscard]] std::optional<SessionTime> next_trained(const Pause& pause,
                                                        SessionTime time) const {
    const auto next = trained_.lower_bound(time);
    return next == trained_.end() || *next >= pause.range.end ? std::nullopt : std::optional(*next);
  }

  // The same, or where the loop asks for one and finds the loader exhausted, at the end of the last
  // step.
  [[nodiscard]] std::optional<SessionTime> next_wait(const Pause& pause, SessionTime time) const {
    if (const auto next = next_trained(pause, time)) return next;
    const SessionTime end = loop_.steps.back().end;
    const bool asks = std::any_of(pause.waits.begin(), pause.waits.end(), [&](const Phase& wait) {
      return wait.kind == PhaseKind::kInputEnd && wait.start == end;
    });
    return asks && time <= end ? std::optional(end) : std::nullopt;
  }

  [[nodiscard]] std::vector<Piece> pieces_of(const Pause& pause) const {
    std::vector<Piece> pieces = marked_pieces(pause);
    const bool evaluates = std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) {
      return piece.kind == SegmentKind::kEvaluation;
    });
    if (!evaluates) add_untrained(pause, pieces);
    add_epoch_end(pause, pieces);
    pieces = joined(std::move(pieces));
    end_evaluations_at_checkpoints(pause, pieces);
    return pieces;
  }

  // Joins overlapping pieces of the same kind: a program may nest any number of them.
  static std::vector<Piece> joined(std::vector<Piece> pieces) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.kind != b.kind ? a.kind < b.kind : a.range.start < b.range.start;
    });
    std::vector<Piece> whole;
    for (const Piece& piece : pieces) {
      const bool overlaps = !whole.empty() && whole.back().kind == piece.kind &&
                            piece.range.start <= whole.back().range.end;
      if (!overlaps) whole.push_back(piece);
      whole.back().range.end = std::max(whole.back().range.end, piece.range.end);
    }
    return whole;
  }

  // Trainers save before they leave evaluation mode. After a checkpoint, an evaluation goes on only
  // where it fetches another batch. `pieces`: joined.
  static void end_evaluations_at_checkpoints(const Pause& pause, std::vector<Piece>& pieces) {
    std::vector<TimeRange> saves;
    for (const Piece& piece : pieces) {
      if (piece.kind == SegmentKind::kCheckpoint) saves.push_back(piece.range);
    }
    if (saves.empty()) return;
    std::vector<Piece> cut;
    for (Piece piece : pieces) {
      auto save = std::partition_point(saves.begin(), saves.end(), [&](const TimeRange& one) {
        return one.start < piece.range.start;
      });
      const bool evaluates = piece.kind == SegmentKind::kEvaluation;
      for (; evaluates && save != saves.end() && save->start < piece.range.end; ++save) {
        if (save->start < piece.range.start) continue;
        cut.push_back({piece.kind, {piece.range.start, save->start}});
        const auto wait = first_wait(pause, save->end);
        const bool goes_on = wait != pause.waits.end() && wait->start < piece.range.end;
        piece.range.start = goes_on ? std::max(wait->start, save->end) : piece.range.end;
      }
      if (piece.range.start < piece.range.end) cut.push_back(piece);
    }
    pieces = std::move(cut);
  }

  // The pieces marked by scopes and modes.
  [[nodiscard]] std::vector<Piece> marked_pieces(const Pause& pause) const {
    std::vector<Piece> pieces;
    for (const Phase& scope : pause.scopes) {
      const auto kind = segment_of_scope(text_(scope.name));
      if (kind) pieces.push_back({*kind, {scope.start, end_of(scope)}});
    }
    for (const ModeRange& mode : evaluation_modes(pause, text_))
      add_evaluation(pause, mode, pieces);
    return pieces;
  }

  // From eval() to train(), if that is called before the next batch is fetched. If train() is not
  // called at all, batches must show that this is an evaluation. It then ends with the last of
  // them, because the next forward pass may follow.
  void add_evaluation(const Pause& pause, const ModeRange& mode, std::vector<Piece>& pieces) const {
    auto to = mode.to;
    if (!to) {
      const auto last = std::find_if(pause.waits.rbegin(), pause.waits.rend(),
                                     [this](const Phase& wait) { return !is_trained(wait); });
      if (last == pause.waits.rend() || last->start < mode.from) return;
      to = end_of(*last);
      if (!goes_on_to_wait_) {
        pieces.push_back({SegmentKind::kEvaluation, {mode.from, *to}});
        return;
      }
    }
    const auto wait = next_trained(pause, mode.to ? mode.from : *to);
    if (wait && (!mode.to || *wait < *to)) to = wait;
    if (mode.from < *to) pieces.push_back({SegmentKind::kEvaluation, {mode.from, *to}});
  }

  // Several batches that are not trained on, or one and the end of its loader. Without waits: more
  // batches chosen by a sampler than usual, the last of which is for the next step.
  void add_untrained(const Pause& pause, std::vector<Piece>& pieces) const {
    constexpr std::size_t kManyDraws = 4;
    if (pause.waits.empty()) {
      const std::size_t draws = pause.draws.size();
      if (draws >= kManyDraws && draws > 2 * usual_draws_) {
        pieces.push_back(
            {SegmentKind::kEvaluation, {pause.draws.front().start, pause.draws.back().start}});
      }
      return;
    }
    std::size_t batches = 0;
    bool ended = false;
    std::optional<TimeRange> range;
    for (const Phase& wait : pause.waits) {
      if (is_trained(wait)) continue;
      const bool end = wait.kind == PhaseKind::kInputEnd;
      if (end && !range) continue;  // of the training loader
      ended |= end;
      batches += end ? 0U : 1U;
      if (!range) range = TimeRange{wait.start, end_of(wait)};
      range->end = end_of(wait);
    }
    if (batches < 1 || (batches == 1 && !ended)) return;
    if (const auto wait = next_trained(pause, range->end); wait && goes_on_to_wait_)
      range->end = *wait;
    pieces.push_back({SegmentKind::kEvaluation, *range});
  }

  // Adds a piece if the training loader was exhausted and is asked again in this pause.
  void add_epoch_end(const Pause& pause, std::vector<Piece>& pieces) const {
    for (const Phase& wait : pause.waits) {
      if (wait.kind != PhaseKind::kInputEnd) {
        if (!is_trained(wait)) return;  // an end that follows belongs to this wait's loader
        continue;
      }
      if (const auto next = next_trained(pause, end_of(wait)))
        pieces.push_back({SegmentKind::kBetweenEpochs, {wait.start, *next}});
      return;
    }
  }

  // Where pieces overlap, a checkpoint takes precedence over an evaluation, and both over the time
  // between epochs. The time between two pieces goes to the first.
  void add(const Pause& pause, const std::vector<Piece>& pieces,
           std::vector<LoopSegment>& segments) const {
    if (pieces.empty()) return;
    std::map<SessionTime, KindCounts> edges;  // how many pieces of each kind begin and end there
    for (const Piece& piece : pieces) {
      ++edges[piece.range.start][static_cast<std::size_t>(piece.kind)];
      --edges[piece.range.end][static_cast<std::size_t>(piece.kind)];
    }
    KindCounts open = edges.begin()->second;
    SegmentKind kind = *first_open(open);
    // Before the first piece, the loop does what it does in each step.
    const SessionTime begin = edges.begin()->first;
    if (usual_lead_ && pause.range.start + *usual_lead_ < begin && !waits_before(pause, begin))
      add_outside_waits(pause, {kind, {pause.range.start + *usual_lead_, begin}}, segments);
    // After the last piece, it goes on to its next wait.
    if (const auto wait = next_wait(pause, edges.rbegin()->first); wait && goes_on_to_wait_)
      edges[*wait];

    for (auto edge = edges.begin(); std::next(edge) != edges.end();) {
      const SessionTime start = edge->first;
      ++edge;
      add_outside_waits(pause, {kind, {start, edge->first}}, segments);
      for (std::size_t i = 0; i < open.size(); ++i) open[i] += edge->second[i];
      kind = first_open(open).value_or(kind);
    }
  }

  static bool waits_before(const Pause& pause, SessionTime time) {
    return !pause.waits.empty() && pause.waits.front().start < time;
  }

  static std::optional<SegmentKind> first_open(const KindCounts& open) {
    for (const SegmentKind kind :
         {SegmentKind::kCheckpoint, SegmentKind::kEvaluation, SegmentKind::kBetweenEpochs}) {
      if (open[static_cast<std::size_t>(kind)] > 0) return kind;
    }
    return std::nullopt;
  }

  // Waits for batches that are trained on belong to steps.
  void add_outside_waits(const Pause& pause, Piece piece,
                         std::vector<LoopSegment>& segments) const {
    for (auto wait = first_wait(pause, piece.range.start);
         wait != pause.waits.end() && wait->start < piece.range.end; ++wait) {
      if (!is_trained(*wait)) continue;
      add_one(pause, {piece.kind, {piece.range.start, wait->start}}, segments);
      piece.range.start = std::min(end_of(*wait), piece.range.end);
    }
    add_one(pause, piece, segments);
  }

  void add_one(const Pause& pause, const Piece& piece, std::vector<LoopSegment>& segments) const {
    if (piece.range.start >= piece.range.end) return;
    const bool continues = !segments.empty() && segments.back().kind == piece.kind &&
                           range_of(segments.back()).end == piece.range.start;
    if (!continues) {
      LoopSegment& begun = segments.emplace_back();
      begun.thread = loop_.thread;
      begun.kind = piece.kind;
      begun.start = piece.range.start;
      begun.step = step_before(piece.range.start);
    }
    LoopSegment& segment = segments.back();
    segment.dur = piece.range.end - segment.start;
    for (auto wait = first_wait(pause, piece.range.start);
         wait != pause.waits.end() && wait->start < piece.range.end; ++wait) {
      const bool begins = wait->start >= piece.range.start;
      segment.batches += begins && wait->kind == PhaseKind::kInput ? 1 : 0;
      segment.input +=
          std::min(end_of(*wait), piece.range.end) - std::max(wait->start, piece.range.start);
    }
  }

  [[nodiscard]] std::int64_t step_before(SessionTime time) const {
    const auto after =
        std::partition_point(loop_.steps.begin(), loop_.steps.end(),
                             [time](const TimeRange& step) { return step.start < time; });
    const auto begun = after - loop_.steps.begin();
    return begun == 0 ? 0 : loop_.first_number + begun - 1;
  }

  const Loop& loop_;
  const TextOf& text_;
  std::vector<Pause> pauses_;
  std::set<SessionTime> trained_;  // the starts of the waits whose batches are trained on
  std::optional<Duration> usual_lead_;
  std::size_t usual_draws_ = 0;
  bool goes_on_to_wait_ = true;  // false: the next forward pass comes before the next wait
};

// Drops inferred input that lies in a segment, and cuts what reaches into one.
void remove_input_in_segments(Loop& loop) {
  std::vector<Phase> pieces;
  for (const Phase& piece : loop.input.pieces) {
    for (const TimeRange range : outside_of({piece.start, end_of(piece)}, loop.segments)) {
      Phase& part = pieces.emplace_back(piece);
      part.start = range.start;
      part.dur = range.length();
    }
  }
  loop.input.pieces = std::move(pieces);
  std::erase_if(loop.input.begins,
                [&](SessionTime begin) { return in_segment(begin, loop.segments); });
}

}  // namespace

std::vector<LoopSegment> find_segments(const std::vector<Phase>& phases,
                                       const std::vector<Phase>& modes, const Loop& loop,
                                       const std::function<std::string_view(StringId)>& text) {
  // In a loop that replays a graph, no batch looks as if it were trained on.
  if (!loop.trains || loop.replays || loop.steps.empty() || phases.empty()) return {};
  return SegmentFinder(phases, modes, loop, text).segments();
}

void find_segments(const RecordedRun& recording, std::vector<Loop>& loops) {
  for (Loop& loop : loops) {
    loop.segments = find_segments(phases_of(recording, loop.thread),
                                  modes_of(recording, loop.thread), loop, recording.text);
    const auto is_step = [&](const TimeRange& range) {
      return length_outside_of(range, loop.segments) > Duration{0};
    };
    // If a program marks only the steps of its evaluations, these are its steps.
    if (std::none_of(loop.steps.begin(), loop.steps.end(), is_step)) loop.segments.clear();
    if (loop.segments.empty()) continue;
    remove_input_in_segments(loop);
    std::erase_if(loop.steps, [&](const TimeRange& range) { return !is_step(range); });
  }
}

std::vector<Phase> training_phases(const RecordedRun& recording) {
  std::vector<Phase> all;
  all.reserve(recording.phases.size());
  const auto& phases = recording.phases;
  for (auto first = phases.begin(); first != phases.end();) {
    const auto last = std::partition_point(
        first, phases.end(), [&](const Phase& phase) { return phase.thread == first->thread; });
    const std::vector<Phase> own(first, last);
    const auto pauses = marked_pauses(own, modes_of(recording, first->thread));
    const auto rest = without_waits(own, evaluation_waits(pauses, recording.text));
    all.insert(all.end(), rest.begin(), rest.end());
    first = last;
  }
  return all;
}

}  // namespace stepscope

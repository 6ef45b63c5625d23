#include "analyzer/steps/infer_input.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/ops/op_class.h"
#include "analyzer/steps/sampler_marks.h"

namespace stepscope {
namespace {

bool trains_here(const Phase& phase) {
  return phase.kind == PhaseKind::kBackward || phase.kind == PhaseKind::kOptimizer;
}

// The time in which the next batch may be prepared: from the end of a backward pass or optimizer
// step to the start of the next one, if that is a backward pass or contains one (the optimizer runs
// a closure).
struct Gap {
  TimeRange range;
  SessionTime follows_until;  // the end of what follows
  bool closure = false;       // the forward pass is inside what follows
};

bool runs_backward(const std::vector<Phase>& phases, std::size_t optimizer) {
  for (std::size_t i = optimizer + 1; i < phases.size(); ++i) {
    if (phases[i].start >= end_of(phases[optimizer])) return false;
    if (phases[i].kind == PhaseKind::kBackward) return true;
  }
  return false;
}

std::vector<Gap> gaps_before_backward(const std::vector<Phase>& phases) {
  std::vector<Gap> gaps;
  std::optional<SessionTime> free_since;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!trains_here(phases[i])) continue;
    const SessionTime begin = phases[i].start;
    if (free_since && begin < *free_since) {  // a backward pass inside an optimizer step
      free_since = std::max(*free_since, end_of(phases[i]));
      continue;
    }
    const bool backward = phases[i].kind == PhaseKind::kBackward;
    const bool closure = !backward && runs_backward(phases, i);
    if (free_since && (backward || closure) && *free_since < begin)
      gaps.push_back({{*free_since, begin}, end_of(phases[i]), closure});
    free_since = end_of(phases[i]);
  }
  return gaps;
}

// The phases that say what a stretch was for, in the order of their ends.
std::vector<TimeRange> named_by_end(const std::vector<Phase>& phases) {
  std::vector<TimeRange> named;
  for (const Phase& phase : phases) {
    const bool instant = phase.kind == PhaseKind::kStep || phase.kind == PhaseKind::kSampler;
    if (!trains_here(phase) && !instant) named.push_back({phase.start, end_of(phase)});
  }
  std::stable_sort(named.begin(), named.end(),
                   [](TimeRange a, TimeRange b) { return a.end < b.end; });
  return named;
}

// The times at which fetches of batches begin, from the marks of a sampler. Known only if the
// loader has no workers and feeds the training, not just an occasional evaluation: at least one gap
// in kMinFed has a mark. Then time before the mark is not input, and a gap without a mark (a
// second network that trains on the same batch) has no input.
constexpr std::ptrdiff_t kMinFed = 10;  // one gap in this many

std::optional<std::vector<SessionTime>> fetches_of(const std::vector<Phase>& phases,
                                                   const std::vector<Gap>& gaps) {
  const SamplerMarks marks = sampler_marks(phases);
  if (marks.ahead) return std::nullopt;
  std::vector<SessionTime> fetches;
  for (const SamplerMarks::Group& group : marks.groups) fetches.push_back(group.range.start);
  const auto marked = std::count_if(gaps.begin(), gaps.end(), [&fetches](const Gap& gap) {
    const auto fetch = std::lower_bound(fetches.begin(), fetches.end(), gap.range.start);
    return fetch != fetches.end() && *fetch < gap.range.end;
  });
  if (marked == 0 || marked * kMinFed < std::ssize(gaps)) return std::nullopt;
  return fetches;
}

// What is known about an op in a gap.
struct GapOp {
  TimeRange range;
  StringId name = StringId::kNone;
  std::int64_t sequence = -1;
  OpClass kind = OpClass::kWork;
};

// A gap, up to the first op of the forward pass in it.
struct Wait {
  TimeRange range;
  std::vector<TimeRange> not_input;                  // scopes, communication
  std::map<StringId, SessionTime> unnumbered_until;  // outermost ops without a sequence number
};

// The ops of one loop thread, gap by gap.
class GapReader {
 public:
  GapReader(const RecordedRun& recording, std::vector<Phase> phases)
      : classes_(recording.text),
        windowed_(recording.facts.windowed),
        phases_(std::move(phases)),
        gaps_(gaps_before_backward(phases_)),
        named_(named_by_end(phases_)),
        fetches_(fetches_of(phases_, gaps_)) {}

  // Ops come in the order of their ends: once one ends after a gap, all ops of the gap are there.
  void add(const Op& op) {
    const SessionTime end = op.start + op.dur;
    while (next_ < gaps_.size() && end > gaps_[next_].range.end) {
      finish_gap(op.start < gaps_[next_].follows_until);
    }
    if (next_ < gaps_.size() && gaps_[next_].range.start <= op.start) {
      ops_.push_back({{op.start, end}, op.name, number_of(op), classes_.of(op)});
    } else {
      last_number_ = std::max(last_number_, number_of(op));
      last_end_ = std::max(last_end_, end);
    }
  }

  InferredInput finish() {
    while (next_ < gaps_.size()) finish_gap(false);
    InferredInput result;
    for (const Wait& wait : waits_) add_pieces(wait, result);
    result.by_fetches = fetches_.has_value();
    return result;
  }

 private:
  // The number of an op that runs with autograd on. A node carries that of its forward op, so it
  // does not count.
  static std::int64_t number_of(const Op& op) {
    return op.scope == OpScope::kFunction ? op.sequence : -1;
  }

  // Sorts the ops of the gap by start. Finds those that lie in no other working op and, for each
  // op, in which of these it lies.
  void find_outermost(std::vector<std::size_t>& outermost, std::vector<std::size_t>& around) {
    std::stable_sort(ops_.begin(), ops_.end(), [](const GapOp& a, const GapOp& b) {
      if (a.range.start != b.range.start) return a.range.start < b.range.start;
      return a.range.end > b.range.end;
    });
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const bool works = ops_[i].kind == OpClass::kWork || ops_[i].kind == OpClass::kCommunication;
      const bool inside =
          !outermost.empty() && ops_[i].range.start < ops_[outermost.back()].range.end;
      if (works && !inside) outermost.push_back(i);
      around.push_back(outermost.empty() ? i : outermost.back());
    }
  }

  // Where the forward pass begins: with the outermost op around the last op that still has the
  // number from before the gap, if a later op has a higher number. The last op before the gap may
  // have made a node after it took its number, so the first number here may be one higher. If it is
  // higher still, a node was made unseen; then, to be safe, the forward pass begins with that op.
  // `follows_ops`: the ops before the gap were recorded. Otherwise the first number in the gap
  // shows how many nodes were made before it.
  std::optional<SessionTime> forward_begin(const std::vector<std::size_t>& around,
                                           bool follows_ops) const {
    std::optional<SessionTime> maker;
    std::int64_t before = last_number_;
    const auto numbered =
        std::find_if(ops_.begin(), ops_.end(), [](const GapOp& op) { return op.sequence >= 0; });
    if (!follows_ops && numbered != ops_.end()) before = numbered->sequence;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].sequence < 0) continue;
      const SessionTime begin = ops_[around[i]].range.start;
      if (!maker && ops_[i].sequence == last_number_ + 1) before = ops_[i].sequence;
      if (ops_[i].sequence > before) return maker ? maker : begin;
      maker = begin;
    }
    return std::nullopt;
  }

  // Whether the ops were being recorded when the gap began. In a window they are, from the start of
  // a step. Otherwise some earlier op must have been recorded: a recording that was switched on in
  // the middle of a forward pass does not know where that pass began.
  bool knows_begin_of(std::size_t gap) const { return windowed_ || follows_ops(gap); }

  // Whether ops were recorded since the previous gap began.
  bool follows_ops(std::size_t gap) const {
    return last_end_ > (gap > 0 ? gaps_[gap - 1].range.start : SessionTime::min());
  }

  // Where the last fetch of a batch began in `range`, which ends with the forward pass; the end of
  // `range` if there was none.
  SessionTime fetch_begin(TimeRange range) const {
    if (!fetches_) return range.start;
    const auto after = std::lower_bound(fetches_->begin(), fetches_->end(), range.end);
    if (after == fetches_->begin() || *(after - 1) < range.start) return range.end;
    return *(after - 1);
  }

  // `follows_recorded`: ops of what follows the gap were recorded.
  void finish_gap(bool follows_recorded) {
    const std::size_t index = next_++;
    const Gap& gap = gaps_[index];
    std::vector<std::size_t> outermost, around;
    find_outermost(outermost, around);
    auto forward = forward_begin(around, !windowed_ || follows_ops(index));
    if (!forward && gap.closure && follows_recorded) forward = gap.range.end;
    if (forward && *forward > gap.range.start && knows_begin_of(index)) {
      const TimeRange range{fetch_begin({gap.range.start, *forward}), *forward};
      if (range.start < range.end) waits_.push_back(look_at_wait(range, outermost));
    }
    for (const std::size_t i : outermost) {
      if (ops_[i].sequence >= 0) numbered_.insert(ops_[i].name);
    }
    for (const GapOp& op : ops_) {
      last_number_ = std::max(last_number_, op.sequence);
      last_end_ = std::max(last_end_, op.range.end);
    }
    ops_.clear();
  }

  Wait look_at_wait(TimeRange range, const std::vector<std::size_t>& outermost) const {
    Wait wait{range, {}, {}};
    for (std::size_t i = 0; i < outermost.size(); ++i) {
      const GapOp& op = ops_[outermost[i]];
      if (op.range.start >= range.end) break;
      if (op.kind == OpClass::kCommunication) {
        // The call returns at once; the thread waits until it does something else.
        const bool last = i + 1 == outermost.size();
        wait.not_input.push_back(
            {op.range.start, last ? range.end : ops_[outermost[i + 1]].range.start});
      } else if (op.sequence < 0) {
        SessionTime& until = wait.unnumbered_until.try_emplace(op.name, range.start).first->second;
        until = std::max(until, op.range.end);
      }
    }
    for (const GapOp& op : ops_) {
      if (op.kind == OpClass::kLabel || op.kind == OpClass::kTransparent) add_named(op.range, wait);
    }
    auto ended = std::partition_point(named_.begin(), named_.end(),
                                      [&](TimeRange named) { return named.end <= range.start; });
    for (; ended != named_.end() && ended->end <= range.end; ++ended) {
      if (ended->start < range.end) add_named(*ended, wait);
    }
    return wait;
  }

  // A scope that goes on into the forward pass says nothing about what comes before it.
  static void add_named(TimeRange named, Wait& wait) {
    if (named.end > wait.range.start && named.end <= wait.range.end)
      wait.not_input.push_back(named);
  }

  // An op that has a number elsewhere but none here ran with autograd off: an evaluation, an
  // average of the weights. Input begins after the last of these.
  SessionTime autograd_on(const Wait& wait) const {
    SessionTime since = wait.range.start;
    for (const auto& [name, until] : wait.unnumbered_until) {
      if (numbered_.contains(name)) since = std::max(since, until);
    }
    return since;
  }

  void add_pieces(const Wait& wait, InferredInput& result) const {
    std::vector<TimeRange> out = wait.not_input;
    std::sort(out.begin(), out.end(), [](TimeRange a, TimeRange b) { return a.start < b.start; });
    out.push_back({wait.range.end, wait.range.end});
    SessionTime from = autograd_on(wait);
    bool first = true;
    for (const TimeRange& hole : out) {
      if (hole.start > from) {
        if (std::exchange(first, false)) result.begins.push_back(from);
        result.pieces.push_back({phases_.front().thread, PhaseKind::kInput, StringId::kNone, from,
                                 std::min(hole.start, wait.range.end) - from, Duration(0)});
      }
      from = std::max(from, hole.end);
      if (from >= wait.range.end) break;
    }
  }

  OpClasses classes_;
  const bool windowed_;
  const std::vector<Phase> phases_;
  const std::vector<Gap> gaps_;
  const std::vector<TimeRange> named_;
  const std::optional<std::vector<SessionTime>> fetches_;  // nullopt: unknown
  std::size_t next_ = 0;                                   // the gap whose ops are coming
  std::vector<GapOp> ops_;                                 // those of its ops that have come
  std::int64_t last_number_ = -1;                          // the highest before the gap
  SessionTime last_end_ = SessionTime::min();              // of any op before the gap
  std::vector<Wait> waits_;
  std::set<StringId> numbered_;  // ops that had a number somewhere
};

}  // namespace

bool lacks_loader(const RecordedRun& recording, const Loop& loop) {
  if (!loop.trains && !loop.by_sampler) return false;
  const std::vector<Phase> phases = phases_of(recording, loop.thread);
  return std::none_of(phases.begin(), phases.end(), [](const Phase& p) {
    return p.kind == PhaseKind::kInput || p.kind == PhaseKind::kInputEnd;
  });
}

Status infer_input(const RecordedRun& recording, std::vector<Loop>& loops) {
  std::map<ThreadId, GapReader> readers;
  std::map<ThreadId, SamplerInput> samplers;
  for (const Loop& loop : loops) {
    if (!lacks_loader(recording, loop)) continue;
    if (loop.trains) {
      readers.try_emplace(loop.thread, recording, phases_of(recording, loop.thread));
    } else {
      samplers.try_emplace(loop.thread, phases_of(recording, loop.thread));
    }
  }
  if ((readers.empty() && samplers.empty()) || recording.op_count == 0) return {};
  OpClasses classes(recording.text);
  const Status read = recording.for_each_op([&](const Op& op) {
    if (const auto it = readers.find(op.thread); it != readers.end()) it->second.add(op);
    if (const auto it = samplers.find(op.thread); it != samplers.end()) {
      const OpClass kind = classes.of(op);
      if (kind == OpClass::kWork || kind == OpClass::kCommunication)
        it->second.add(op, classes.uses_weight(op));
    }
    return true;
  });
  if (!read.ok()) return read;
  for (Loop& loop : loops) {
    if (const auto it = readers.find(loop.thread); it != readers.end())
      loop.input = it->second.finish();
    if (const auto it = samplers.find(loop.thread); it != samplers.end())
      loop.input = it->second.finish(loop.thread);
  }
  return {};
}

}  // namespace stepscope

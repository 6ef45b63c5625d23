#include "analyzer/attribute/loop_sweeper.h"

#include <algorithm>
#include <utility>

#include "analyzer/steps/segment_ranges.h"

namespace stepscope {
namespace {

bool counts_as_call(const BufferedOp& op) {
  return op.kind == OpClass::kWork || op.kind == OpClass::kCommunication;
}

}  // namespace

LoopSweeper::LoopSweeper(const Loop& loop, const std::vector<Phase>& phases,
                         const std::vector<Phase>& marks, Config config)
    : loop_(loop),
      config_(std::move(config)),
      spans_(lay_out_spans(phases, loop)),
      buffers_(loop.steps.size()),
      swept_(loop.steps.front().start),
      seen_(loop.steps.front().start),
      seen_anywhere_(loop.steps.front().start) {
  for (const TimeRange step : loop.steps) {
    const auto parts = outside_of(step, loop.segments);
    const TimeRange own{parts.front().start, parts.back().end};
    Duration paused = own.length();
    for (const TimeRange part : parts) paused -= part.length();
    result_.steps.push_back({own, paused, 0, false, false, {}, {}});
  }
  result_.stretches.resize(loop.steps.size());
  if (config_.in_parts) {
    // Recording an op costs less than running the smallest one.
    constexpr Duration kUnknown{2000};
    const Duration smallest = config_.launch_overhead;
    split_ = std::make_shared<PhaseSplit>(smallest > Duration{0} ? smallest : kUnknown);
    marked_ = lay_out_spans(marks, loop);
    for (const auto& spans : marked_) marked_times_.push_back(marked_times(spans));
    longest_split_ = kFarLonger * longest_plain_step();
  }
  if (config_.devices) result_.devices = config_.devices->devices();
}

Duration LoopSweeper::longest_plain_step() const {
  Duration longest{0};
  for (std::size_t i = 0; i < result_.steps.size(); ++i) {
    const AttributedStep& step = result_.steps[i];
    const bool plain = config_.role(i) == StepRole::kSteady &&
                       config_.ops_recorded(step.range, false) == OpsRecorded::kNone;
    if (plain) longest = std::max(longest, step.range.length() - step.paused);
  }
  return longest;
}

// The first step that ends after `time`; the number of steps if there is none.
std::size_t LoopSweeper::step_at(SessionTime time) {
  const auto& steps = loop_.steps;
  if (hint_ < steps.size() && steps[hint_].contains(time)) return hint_;
  const auto it =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](SessionTime t, const TimeRange& step) { return t < step.end; });
  const auto index = static_cast<std::size_t>(it - steps.begin());
  if (index < steps.size()) hint_ = index;
  return index;
}

void LoopSweeper::add(const Op& op, OpClass kind) {
  const SessionTime end = op.start + op.dur;
  if (op.thread == loop_.thread) seen_ = std::max(seen_, end);
  seen_anywhere_ = std::max(seen_anywhere_, end);
  const std::size_t first = step_at(op.start);
  if (first == loop_.steps.size() || end <= loop_.steps.front().start) return;
  // An op that reaches into a third step covers the second.
  std::size_t last = first;
  if (in_segment(op.start, loop_.segments) && in_segment(end - Duration{1}, loop_.segments)) return;
  while (last < first + 2 && last + 1 < loop_.steps.size() && loop_.steps[last + 1].start < end)
    ++last;
  // A range that covers a whole step says nothing about what happens inside it.
  for (std::size_t i = first; i <= last; ++i) {
    const TimeRange step = loop_.steps[i];
    if (op.start <= step.start && end >= step.end) return;
  }
  for (std::size_t i = first; i <= last; ++i) buffer(i, op, kind);
}

void LoopSweeper::buffer(std::size_t step, const Op& op, OpClass kind) {
  if (step < next_step_ || op.start + op.dur <= swept_) {
    ++result_.late_ops;
    return;
  }
  Buffer& target = buffers_[step];
  const BufferedOp item{op.start, op.dur, op.name, kind};
  if (op.thread == loop_.thread) {
    target.own.push_back(item);
    ++result_.steps[step].op_count;
  } else {
    if (watches(op.thread)) {
      target.launching[op.thread].push_back(item);
      ++buffered_;
    }
    const bool backward = is_backward(op);
    if (!backward && kind != OpClass::kCommunication) return;
    target.others[{backward ? Help::kBackward : Help::kCollective, op.thread}].push_back(item);
  }
  ++buffered_;
}

void LoopSweeper::shrink(std::size_t keep) {
  while (buffered_ > keep && next_step_ < loop_.steps.size()) {
    const std::size_t before = buffered_;
    const SessionTime swept_before = swept_;
    // An op may reach into the following step, so this step is fully known only when that one is
    // over, too.
    const std::size_t settled = std::min(next_step_ + 1, loop_.steps.size() - 1);
    if (seen_ >= loop_.steps[settled].end) {
      sweep_to(loop_.steps[next_step_].end);
    } else {
      // For a step with very many ops: sweep as far as the loop thread came or, if it has no new
      // ops, as far as any thread came.
      const SessionTime known = seen_ > swept_ ? seen_ : seen_anywhere_;
      sweep_to(std::clamp(known, swept_, loop_.steps[next_step_].end));
    }
    if (buffered_ == before && swept_ == swept_before) return;
  }
}

OpTable* LoopSweeper::table_of(std::size_t step) {
  switch (config_.role(step)) {
    case StepRole::kSteady:
      return &result_.steady_ops;
    case StepRole::kWarmUp:
      return &result_.warm_up_ops;
    case StepRole::kLeftOut:
      break;
  }
  return nullptr;
}

// Sweeps the part of [swept_, end) that lies in no segment; the range lies in step next_step_.
void LoopSweeper::sweep_to(SessionTime end) {
  const std::size_t step = next_step_;
  swept_ = std::max(swept_, loop_.steps[step].start);
  sort_for_nesting(buffers_[step].own);
  for (const TimeRange frame : outside_of({swept_, end}, loop_.segments)) sweep_frame(step, frame);
  swept_ = end;
  drop_ended(buffers_[step], end);
  if (end == loop_.steps[step].end) end_step(step);
}

void LoopSweeper::sweep_frame(std::size_t step, TimeRange frame) {
  Buffer& ops = buffers_[step];
  const OpsRecorded coverage =
      config_.ops_recorded(result_.steps[step].range, result_.steps[step].op_count > 0);
  const bool recorded = coverage == OpsRecorded::kAll;
  result_.steps[step].ops_recorded = recorded;
  result_.steps[step].ops_in_part = coverage == OpsRecorded::kPart;
  // How one stall divides says nothing about other steps.
  const Duration length = result_.steps[step].range.length() - result_.steps[step].paused;
  const bool stalls = longest_split_ > Duration{0} && length > longest_split_;
  const bool splits =
      split_ != nullptr && recorded && !stalls && config_.role(step) == StepRole::kSteady;
  if (step != begun_step_) {
    begun_step_ = step;
    marked_index_ = 0;
    if (splits) split_->begin_op_step(marked_times_[step]);
  }

  OpPaths* const paths =
      config_.observer == nullptr ? nullptr : config_.observer->paths_for(step, recorded);
  const auto own = flatten_ops(ops.own, frame, config_.launch_overhead, paths);
  const auto autograd = runs_of(Help::kBackward, ops, frame, paths);
  const auto collectives = runs_of(Help::kCollective, ops, frame, paths);
  OpTable* const table = table_of(step);
  const bool with_devices = !result_.devices.empty();
  std::vector<Segment> segments;
  const Frame swept{frame, spans_[step], recorded, own, autograd, collectives};
  if (paths != nullptr) config_.observer->on_frame(step, swept);
  const bool with_tables = table != nullptr || config_.op_series;
  sweep(swept, state_, [&](const Segment& segment) {
    result_.steps[step].account.add(segment);
    add_stretch(result_.stretches[step], segment.range, segment.phase);
    if (splits) split_->add(marked_at(segment.range.start), segment);
    if (with_devices) segments.push_back(segment);
    if (!with_tables || segment.op == StringId::kNone) return;
    Segment named = segment;
    named.op = table_names_.row_name(segment.op);
    if (table != nullptr) table->add(named);
    if (config_.op_series) op_series_.add(named);
  });
  const auto add_call = [&](StringId op, PhaseKind phase) {
    if (!with_tables) return;
    const StringId name = table_names_.row_name(op);
    if (table != nullptr) table->add_call(name, phase);
    if (config_.op_series) op_series_.add_call(name, phase);
  };
  count_calls(ops.own, frame, add_call);
  if (splits) split_ops(ops.own, frame);
  if (splits) split_module_calls(frame);
  for (const auto& [key, list] : ops.others) count_calls(list, frame, add_call);
  if (with_devices) sweep_devices(frame, segments);
}

void LoopSweeper::end_step(std::size_t step) {
  const bool counts = table_of(step) != nullptr;
  if (config_.op_series) op_series_.end_step(step, counts && result_.steps[step].ops_recorded);
  // Kernels may be recorded where ops are not.
  for (OpSeries& series : kernel_series_) series.end_step(step, counts);
  ++next_step_;
  spans_[step] = {};
  buffers_[step] = {};
}

std::vector<OpRun> LoopSweeper::runs_of(Help help, Buffer& ops, TimeRange frame,
                                        OpPaths* paths) const {
  std::vector<std::vector<OpRun>> threads;
  for (auto& [key, list] : ops.others) {
    if (key.first != help) continue;
    sort_for_nesting(list);
    threads.push_back(flatten_ops(list, frame, config_.launch_overhead, paths));
  }
  return merge_runs(threads);
}

// Each op counts once, in the phase in which it began.
template <typename AddCall>
void LoopSweeper::count_calls(const std::vector<BufferedOp>& ops, TimeRange frame,
                              AddCall add_call) const {
  const auto& spans = spans_[next_step_];
  std::size_t at = 0;
  for (const BufferedOp& op : ops) {
    if (!frame.contains(op.start) || !counts_as_call(op)) continue;
    while (at + 1 < spans.size() && spans[at].range.end <= op.start) ++at;
    const bool forward = spans[at].phase == PhaseKind::kNone && spans[at].before_backward;
    add_call(op.name, forward ? PhaseKind::kForward : spans[at].phase);
  }
}

// Drops ops that ended before `now`; ops that are still open go into the next frame.
void LoopSweeper::drop_ended(Buffer& ops, SessionTime now) {
  const auto ended = [now](const BufferedOp& op) { return op.range().end <= now; };
  buffered_ -= std::erase_if(ops.own, ended);
  for (auto& [key, list] : ops.others) buffered_ -= std::erase_if(list, ended);
  for (auto& [key, list] : ops.launching) buffered_ -= std::erase_if(list, ended);
  if (now < loop_.steps[next_step_].end) return;
  buffered_ -= ops.own.size();
  for (auto& [key, list] : ops.others) buffered_ -= list.size();
  for (auto& [key, list] : ops.launching) buffered_ -= list.size();
}

void LoopSweeper::sweep_devices(TimeRange frame, const std::vector<Segment>& segments) {
  OpsByThread& ops = buffers_[next_step_].launching;
  for (auto& [thread, list] : ops) sort_for_nesting(list);
  const StepRole role = config_.role(next_step_);
  std::vector<KernelTable>* const kernels = role == StepRole::kSteady   ? &result_.steady_kernels
                                            : role == StepRole::kWarmUp ? &result_.warm_up_kernels
                                                                        : nullptr;
  config_.devices->sweep(frame, segments, ops, result_.steps[next_step_].devices, kernels,
                         config_.op_series ? &kernel_series_ : nullptr);
}

MarkedPhase LoopSweeper::marked_at(SessionTime time) {
  const std::vector<Span>& spans = marked_[next_step_];
  if (marked_index_ >= spans.size() || spans[marked_index_].range.start > time) marked_index_ = 0;
  while (marked_index_ + 1 < spans.size() && spans[marked_index_].range.end <= time)
    ++marked_index_;
  return marked_phase(spans[marked_index_]);
}

// `ops`: sorted for nesting. A user range does not count as an op around others: the time between
// the ops inside it is the range's own.
void LoopSweeper::split_ops(const std::vector<BufferedOp>& ops, TimeRange frame) {
  SessionTime inside_until = SessionTime::min();
  for (const BufferedOp& op : ops) {
    const bool nested = op.start < inside_until;
    if (frame.contains(op.start)) split_->add_op(marked_at(op.start), nested);
    if (counts_as_call(op)) inside_until = std::max(inside_until, op.range().end);
  }
}

void LoopSweeper::split_module_calls(TimeRange frame) {
  const auto first =
      std::lower_bound(config_.modules.begin(), config_.modules.end(), frame.start,
                       [](const ModuleCall& call, SessionTime time) { return call.start < time; });
  for (auto call = first; call != config_.modules.end() && call->start < frame.end; ++call)
    split_->add_module_call(marked_at(call->start));
}

void LoopSweeper::model_plain_steps() {
  for (std::size_t i = 0; i < loop_.steps.size(); ++i) {
    if (result_.steps[i].is_plain() && config_.role(i) == StepRole::kSteady)
      split_->add_plain_step(marked_times_[i]);
  }
  split_->finish();
  if (split_->cost().op_steps == 0) return;
  for (std::size_t i = 0; i < loop_.steps.size(); ++i) {
    AttributedStep& step = result_.steps[i];
    // Some steps had ops that are no longer held (RunFacts::ops_dropped).
    const bool has_no_ops = step.is_plain() || (step.ops_in_part && step.op_count == 0);
    if (!has_no_ops) continue;
    step.account = split_->account(marked_times_[i]);
    result_.stretches[i] = split_->stretches(marked_[i]);
  }
  result_.split = split_;
}

AttributedLoop LoopSweeper::finish() {
  while (next_step_ < loop_.steps.size()) sweep_to(loop_.steps[next_step_].end);
  if (split_ != nullptr) model_plain_steps();
  result_.op_blocks = op_series_.take_blocks();
  for (OpSeries& series : kernel_series_) result_.kernel_blocks.push_back(series.take_blocks());
  result_.merged_ops = table_names_.merged();
  if (config_.devices) {
    result_.merged_kernels = config_.devices->merged_kernels();
    result_.call_phases = config_.devices->take_call_phases();
  }
  return std::move(result_);
}

}  // namespace stepscope

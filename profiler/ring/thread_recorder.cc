#include "profiler/ring/thread_recorder.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace stepscope {
namespace {

// Cuts `text` to `limit` bytes without splitting a UTF-8 sequence.
std::string_view cut_utf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

// Labels are not phases of the loop: ops inside them keep the phase of the thread.
bool is_label(PhaseKind kind) { return kind == PhaseKind::kScope || kind == PhaseKind::kSampler; }

// Waits for input and the user's scopes record how busy the thread was. Other phases do not,
// because reading the CPU clock is a system call of up to a microsecond.
bool has_cpu_time(PhaseKind kind) { return kind == PhaseKind::kInput || kind == PhaseKind::kScope; }

// Writes `text` after the header of a NameSlot and on into the following slots.
void write_name(RingProducer& ring, SlotKind kind, NameId name, std::string_view text) {
  NameSlot& first = ring.slot(0).name;
  first.kind = kind;
  first.name = name;
  first.length = static_cast<std::uint32_t>(text.size());
  std::size_t written = std::min(text.size(), sizeof(first.text));
  std::memcpy(first.text, text.data(), written);
  for (std::uint64_t i = 1; written < text.size(); ++i) {
    const std::size_t part = std::min(text.size() - written, sizeof(Slot));
    std::memcpy(static_cast<void*>(&ring.slot(i)), text.data() + written, part);
    written += part;
  }
}

std::atomic<NewNameFunction> new_name_function{nullptr};

}  // namespace

void set_new_name_function(NewNameFunction function) {
  new_name_function.store(function, std::memory_order_release);
}

NameId ThreadRecorder::intern_text(std::string_view text, const char* pointer, SlotKind kind) {
  if (text.empty()) return NameId::kNone;
  const NameId known = names_.find(text, pointer);
  if (known != NameId::kNone) return known;
  const std::string_view kept = cut_utf8(text, kMaxNameLength);
  const std::uint32_t slots = name_slots(static_cast<std::uint32_t>(kept.size()));
  // A name leaves half of the marks' reserve free: a mark without its name is still useful.
  if (!ring_.has_room(slots, kReservedForMarks / 2)) {
    ring_.count_loss(LossKind::kName);
    return NameId::kNone;
  }
  const NameId name = names_.define(kept, pointer);
  write_name(ring_, kind, name, kept);
  ring_.publish(slots);
  if (const NewNameFunction tell = new_name_function.load(std::memory_order_acquire)) tell();
  return name;
}

void ThreadRecorder::start_op(const OpStart& op, std::string_view shapes) {
  OpenOp* frame = push(op);
  if (frame == nullptr) return;
  frame->shapes = intern_text(shapes, shapes.data());
  Ticks start = read_ticks();
  if (stacks_.stretch_counts(start)) start = end_stretch(start);
  frame->start = to_count(start);
  stacks_.pass(start, 0);
}

// Without marks, the forward pass has begun once the sequence number changes: only an op that
// creates an autograd node changes it. (This is one op late; the analyzer is exact.)
PhaseKind ThreadRecorder::infer_phase(std::int64_t sequence) {
  if (sequence < 0) return PhaseKind::kNone;
  const bool moved = last_sequence_ >= 0 && sequence != last_sequence_;
  last_sequence_ = sequence;
  if (moved) phase_ = PhaseKind::kForward;
  return phase_;
}

void ThreadRecorder::take_off(const void* identity) {
  const std::scoped_lock lock(open_ops_mutex_);
  const std::uint32_t depth = ring().open_depth.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < std::min(depth, kMaxOpenOps); ++i) {
    auto expected = reinterpret_cast<std::uint64_t>(identity);
    std::atomic_ref(open_ops()[i].identity).compare_exchange_strong(expected, 0);
  }
}

void ThreadRecorder::end_out_of_order(const void* identity, Ticks end) {
  const std::scoped_lock lock(open_ops_mutex_);
  const auto wanted = reinterpret_cast<std::uint64_t>(identity);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < depth_; ++i) {
    OpenOp& frame = open_ops()[i];
    const std::uint64_t open = identity_of(frame);
    if (open == wanted) write_op(frame, i, end);
    if (open == wanted || open == 0) continue;  // ended now, or on another thread
    if (kept != i) open_ops()[kept] = frame;
    ++kept;
  }
  // If no frame matched, the op began before this recording, or too deep to be recorded.
  set_depth(kept);
}

void ThreadRecorder::foreign_op(const OpStart& op, Ticks start, std::uint64_t start_thread) {
  const Ticks end = read_ticks();
  const NameId name = intern(op.name);
  if (!ring_.has_room(1, kReservedForMarks)) {
    ring_.count_loss(LossKind::kOp);
    return;
  }
  ring_.slot(0).op = {SlotKind::kForeignOp,
                      static_cast<std::uint8_t>(op.scope),
                      static_cast<std::uint8_t>(PhaseKind::kNone),
                      0,
                      name,
                      to_count(start),
                      to_count(end),
                      static_cast<std::uint32_t>(op.sequence),
                      static_cast<std::uint32_t>(start_thread)};
  ring_.publish(1);
}

OpenPhase ThreadRecorder::begin_phase(PhaseKind kind, std::string_view name, Ticks start) {
  OpenPhase phase;
  if (kind == PhaseKind::kInput && waits_for_input()) return phase;
  end_stretch_at_mark(start);
  phase.kind = kind;
  phase.outer = phase_;
  phase.name = intern_text(name, name.data());
  if (!is_label(kind)) phase_ = kind;
  // The ticks must be read before the CPU clock. Reading that clock is a system call, and a thread
  // often loses its processor when it returns from one; by then the phase has already begun.
  phase.start = start;
  if (has_cpu_time(kind)) {
    phase.cpu_start_ns = cpu_clock_at_begin(kind, phase.start);
  } else {
    follow_schedule_if_due(start);
  }
  begin_stretch_at_mark(start, kind, true);
  return phase;
}

void ThreadRecorder::end_stretch_at_mark(Ticks now) {
  if (stacks_.stretch_counts(now)) end_stretch(now);
}

// Any thread may open a scope, even one without a loop, so a scope starts no sampling. It is an
// event within a phase, like an op.
void ThreadRecorder::begin_stretch_at_mark(Ticks now, PhaseKind kind, bool begins) {
  if (kind != PhaseKind::kScope) stacks_.follow(now);
  const std::uint32_t what = (static_cast<std::uint32_t>(kind) << 1) | (begins ? 1 : 0);
  events_ = is_label(kind) ? events_ + 1 : what << 24;
  stacks_.pass(now, StackTaker::place_of(~what, events_));
  if (stacks_.may_be_chosen(now)) stacks_.begin_stretch();
}

// A scope may begin where another has just ended; the clock that was read then is good enough. Not
// for a wait for input, which may itself be that short and is judged by how busy it was.
std::int64_t ThreadRecorder::cpu_clock_at_begin(PhaseKind kind, Ticks now) {
  const std::uint64_t since = to_count(now) - to_count(cpu_clock_read_);
  if (kind != PhaseKind::kInput && since < kTicksInTenUs) return cpu_clock_ns_;
  const std::int64_t wall_ns = read_clock_ns(CLOCK_MONOTONIC);
  const std::int64_t cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  follow_schedule(now, wall_ns, cpu_ns);
  return cpu_ns;
}

// Writes the schedule of the stretch that ends `now`: before the phase that begins now, or after
// the phase that ends now. The ring's last slots are for names and marks: a stretch can wait.
void ThreadRecorder::follow_schedule(Ticks now, std::int64_t wall_ns, std::int64_t cpu_ns) {
  const auto stretch =
      schedule_.mark(now, wall_ns, cpu_ns, ring_.has_room(1, kReservedForMarks / 2));
  if (!stretch) return;
  constexpr std::int64_t kMaxUs = std::numeric_limits<std::uint32_t>::max();
  ring_.slot(0).stretch = {SlotKind::kStretch,
                           {},
                           static_cast<std::uint32_t>(std::min(stretch->starved_ns / 1000, kMaxUs)),
                           to_count(stretch->start),
                           to_count(stretch->end),
                           static_cast<std::uint64_t>(stretch->run_ns)};
  ring_.publish(1);
}

// For marks that do not need the CPU clock otherwise: reads it only if a stretch is due.
void ThreadRecorder::follow_schedule_if_due(Ticks now) {
  if (!schedule_.is_due(now)) return;
  const std::int64_t wall_ns = read_clock_ns(CLOCK_MONOTONIC);
  follow_schedule(now, wall_ns, read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

void ThreadRecorder::end_phase(const OpenPhase& phase, PhaseKind kind) {
  if (phase.kind == PhaseKind::kNone) return;
  std::int64_t cpu_ns = 0;
  if (has_cpu_time(phase.kind)) {
    cpu_clock_ns_ = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    cpu_ns = cpu_clock_ns_ - phase.cpu_start_ns;
  }
  const Ticks end = read_ticks();
  if (has_cpu_time(phase.kind)) cpu_clock_read_ = end;
  end_stretch_at_mark(end);
  if (kind == PhaseKind::kInput) {
    phase_ = PhaseKind::kForward;  // a batch has come: what follows works on it
  } else if (!is_label(phase.kind)) {
    // A phase nested in an optimizer or input phase returns to that one; otherwise the phase is
    // unknown. Clearing the gradients does not end a forward pass: some programs do so before the
    // backward pass.
    const bool nested = phase.outer == PhaseKind::kOptimizer || phase.outer == PhaseKind::kInput ||
                        phase.kind == PhaseKind::kZeroGrad;
    phase_ = nested ? phase.outer : PhaseKind::kNone;
    last_sequence_ = -1;
  }
  write_phase(kind, phase.name, phase.start, end, cpu_ns);
  if (has_cpu_time(phase.kind)) {
    follow_schedule(end, read_clock_ns(CLOCK_MONOTONIC), cpu_clock_ns_);
  } else {
    follow_schedule_if_due(end);
  }
  begin_stretch_at_mark(end, phase.kind, false);
}

void ThreadRecorder::mark(PhaseKind kind) {
  const Ticks now = read_ticks();
  end_stretch_at_mark(now);
  phase_ = PhaseKind::kNone;
  last_sequence_ = -1;
  write_phase(kind, NameId::kNone, now, now, 0);
  follow_schedule_if_due(now);  // a loop may have no other marks
  begin_stretch_at_mark(now, kind, true);
}

void ThreadRecorder::mark_ops(bool on, Ticks at) {
  write_phase(on ? PhaseKind::kOpsBegin : PhaseKind::kOpsEnd, NameId::kNone, at, at, 0);
}

std::uint32_t ThreadRecorder::begin_module(std::string_view label, std::int64_t held_bytes) {
  const std::uint32_t depth = module_depth_++;
  if (depth >= kMaxOpenModules) {
    ring_.count_loss(LossKind::kDepth);
    return depth;
  }
  OpenModule& open = open_modules_[depth];
  open.name = intern_text(label, label.data(), SlotKind::kModuleName);
  open.phase = phase_now();
  open.held_bytes = held_bytes;
  open.start = read_ticks();  // last, so that none of this counts as time of the module
  return depth;
}

void ThreadRecorder::end_module(std::uint32_t depth, std::int64_t held_bytes) {
  const Ticks end = read_ticks();
  if (depth >= module_depth_) return;  // begun in an earlier recording
  module_depth_ = depth;
  if (depth >= kMaxOpenModules) return;
  const OpenModule& open = open_modules_[depth];
  if (!ring_.has_room(1, kReservedForMarks)) {
    ring_.count_loss(LossKind::kOp);
    return;
  }
  const bool counted = open.held_bytes != kHeldUnknown && held_bytes != kHeldUnknown;
  ring_.slot(0).module = {SlotKind::kModule,
                          static_cast<std::uint8_t>(open.phase),
                          static_cast<std::uint8_t>(depth),
                          0,
                          open.name,
                          to_count(open.start),
                          to_count(end),
                          counted ? held_bytes - open.held_bytes : kHeldUnknown};
  ring_.publish(1);
}

std::int64_t ThreadRecorder::held_bytes() {
  std::int64_t bytes = 0;
  for (const auto& held : ring_.header().memory.held_bytes)
    bytes += held.load(std::memory_order_relaxed);
  return bytes;
}

void ThreadRecorder::write_phase(PhaseKind kind, NameId name, Ticks start, Ticks end,
                                 std::int64_t cpu_ns) {
  if (lost_marks_ && !write_lost_time()) return lose_mark(kind, start, end);
  if (!ring_.has_room(1, 0)) return lose_mark(kind, start, end);
  put_phase(kind, name, start, end, cpu_ns);
}

void ThreadRecorder::put_phase(PhaseKind kind, NameId name, Ticks start, Ticks end,
                               std::int64_t cpu_ns) {
  ring_.slot(0).phase = {SlotKind::kPhase,
                         static_cast<std::uint8_t>(kind),
                         0,
                         name,
                         to_count(start),
                         to_count(end),
                         static_cast<std::uint64_t>(std::max<std::int64_t>(cpu_ns, 0))};
  ring_.publish(1);
}

// A scope may be far longer than the time in which marks are lost: only its end counts.
void ThreadRecorder::lose_mark(PhaseKind kind, Ticks start, Ticks end) {
  ring_.count_loss(LossKind::kPhase);
  if (is_label(kind)) start = end;
  lost_from_ = lost_marks_ ? std::min(lost_from_, start) : start;
  lost_until_ = end;
  lost_marks_ = true;
}

// Before the first mark that fits again. False: there is no room for both.
bool ThreadRecorder::write_lost_time() {
  if (!ring_.has_room(2, 0)) return false;
  put_phase(PhaseKind::kLost, NameId::kNone, lost_from_, lost_until_, 0);
  lost_marks_ = false;
  return true;
}

void ThreadRecorder::begin_session(std::uint32_t session, std::uint64_t torch_id) {
  session_ = session;
  ring_.header().torch_id.store(static_cast<std::uint32_t>(torch_id), std::memory_order_relaxed);
  set_depth(0);
  names_.forget();
  lost_marks_ = false;
  phase_ = PhaseKind::kNone;
  last_sequence_ = -1;
  cpu_clock_read_ = {};  // the child of a fork has its own CPU clock
  schedule_.restart();
  module_depth_ = 0;
  stacks_.restart();
}

}  // namespace stepscope

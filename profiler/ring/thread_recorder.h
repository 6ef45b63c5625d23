// The producer of one thread, called by hooks and marks. Everything here runs inside the profiled
// program, between two of its own instructions.
//
// Hot path (start_op, end_op): no allocation, no lock, no system call, no exception.
// Thread safety: none; each thread has its own. Only take_off() may be called by other threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "profiler/ring/call_phases.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/name_cache.h"
#include "profiler/ring/pointer_table.h"
#include "profiler/ring/ring.h"
#include "profiler/ring/stack_taker.h"
#include "profiler/ring/thread_schedule.h"
#include "profiler/visibility.h"
#include "store/events.h"

namespace stepscope {

// What a hook knows about an op when it begins.
struct OpStart {
  const void* identity;  // the same as in end_op()
  const char* name;      // valid during the call only
  std::int64_t sequence;
  std::uint64_t forward_thread;
  OpScope scope;
};

// An open phase, to be passed to end_phase(). Lies on the caller's stack.
struct OpenPhase {
  PhaseKind kind = PhaseKind::kNone;  // kNone: not begun, end_phase() does nothing
  PhaseKind outer = PhaseKind::kNone;
  NameId name = NameId::kNone;
  Ticks start{};
  std::int64_t cpu_start_ns = 0;
};

// Called when a thread records a name for the first time: a few hundred times per recording, and
// when a program does something new. It must not lock or allocate. Thread safety: called on any
// thread.
using NewNameFunction = void (*)();
STEPSCOPE_INTERNAL void set_new_name_function(NewNameFunction function);

class STEPSCOPE_INTERNAL ThreadRecorder {
 public:
  explicit ThreadRecorder(RingHeader* ring) : ring_(ring) {}

  STEPSCOPE_HOT_INLINE void start_op(const OpStart& op) {
    OpenOp* frame = push(op);
    // Read the clock last, so that our own overhead does not count as part of the op.
    if (frame == nullptr) [[unlikely]]
      return;
    Ticks start = read_ticks();
    if (stacks_.stretch_counts(start)) [[unlikely]]
      start = end_stretch(start);
    frame->start = to_count(start);
    stacks_.pass(start, 0);
  }
  // The same with the op's input shapes as text, which is interned like a name.
  void start_op(const OpStart& op, std::string_view shapes);

  STEPSCOPE_HOT_INLINE void end_op(const void* identity) {
    const Ticks end = read_ticks();  // first, for the same reason
    if (depth_ == 0) return;
    if (stacks_.stretch_counts(end)) [[unlikely]]
      end_stretch(end);
    if (depth_ > kMaxOpenOps) {
      set_depth(depth_ - 1);
      return;
    }
    OpenOp& frame = open_ops()[depth_ - 1];
    if (identity_of(frame) != reinterpret_cast<std::uint64_t>(identity)) [[unlikely]] {
      end_out_of_order(identity, end);
      return;
    }
    set_depth(depth_ - 1);
    write_op(frame, depth_, end);
    stacks_.pass(end, StackTaker::place_of(static_cast<std::uint32_t>(frame.name), ++events_));
    if (stacks_.may_be_chosen(end)) [[unlikely]]
      stacks_.begin_stretch();
  }

  // Counts an op that could not be begun.
  void count_lost_op() { ring_.count_loss(LossKind::kOp); }

  // Called by another thread, on which the op `identity` has ended that began here. Its frame is
  // vacant from now on and is removed when the enclosing ops end.
  void take_off(const void* identity);

  // Records an op that began on another thread (a future's completion) and ends now. The caller
  // keeps `start` and the name; `start_thread` is the torch id of the thread on which the op began.
  void foreign_op(const OpStart& op, Ticks start, std::uint64_t start_thread);

  // Begins a phase at `start`, which is now or shortly before. Does not begin a nested wait for
  // input: the loop waits once, however many layers see it.
  STEPSCOPE_HOT [[nodiscard]] OpenPhase begin_phase(PhaseKind kind, std::string_view name,
                                                    Ticks start = read_ticks());
  [[nodiscard]] bool waits_for_input() const { return phase_ == PhaseKind::kInput; }
  // `kind` may differ from the kind that was begun, when a wait for input finds the loader
  // exhausted.
  STEPSCOPE_HOT void end_phase(const OpenPhase& phase, PhaseKind kind);
  void end_phase(const OpenPhase& phase) { end_phase(phase, phase.kind); }
  // Records an instant: the user's step().
  STEPSCOPE_HOT void mark(PhaseKind kind);
  // Marks that op callbacks are in place from `at` on, or were until then. Applies to the process,
  // not to a phase.
  void mark_ops(bool on, Ticks at);

  // Begins a call of the module `label` (as a kModuleName). Returns its depth, from 0.
  // `held_bytes`: tensor memory held now; kHeldUnknown: not counted.
  std::uint32_t begin_module(std::string_view label, std::int64_t held_bytes);
  // Ends the call at `depth`, and discards calls inside it that never ended.
  void end_module(std::uint32_t depth, std::int64_t held_bytes);
  // The tensor memory that this thread allocated, minus what it freed.
  [[nodiscard]] std::int64_t held_bytes();

  // Tensor memory: count_allocation() adds to the amount allocated; count_held() and count_freed()
  // change the amount held.
  STEPSCOPE_HOT_INLINE void count_allocation(std::uint64_t bytes) {
    TensorMemory& memory = ring_.header().memory;
    add_to(memory.allocations, std::uint64_t{1});
    add_to(memory.allocated_bytes, bytes);
  }
  void count_held(const HeldBlock& block) {
    add_to(held_by(block.owner), static_cast<std::int64_t>(block.bytes));
  }
  void count_freed(const HeldBlock& block) {
    add_to(held_by(block.owner), -static_cast<std::int64_t>(block.bytes));
  }
  // The owner of memory allocated now.
  [[nodiscard]] MemoryOwner memory_owner_now() { return memory_owner(phase_now()); }

  // Begins a new recording: open ops and phases belong to an earlier one. `torch_id` 0: not known.
  void begin_session(std::uint32_t session, std::uint64_t torch_id);
  [[nodiscard]] std::uint32_t session() const { return session_; }

  [[nodiscard]] RingHeader& ring() { return ring_.header(); }

  // The link of the list that contains this recorder; guarded by the list's lock.
  [[nodiscard]] ThreadRecorder* next_in_list() const { return next_in_list_; }
  void set_next_in_list(ThreadRecorder* next) { next_in_list_ = next; }

  CallPhases<OpenPhase>& call_phases() { return call_phases_; }

 private:
  struct OpenModule {
    NameId name;
    PhaseKind phase;
    Ticks start;
    std::int64_t held_bytes;
  };

  // For counters that only this thread writes.
  template <typename Number>
  static void add_to(std::atomic<Number>& counter, Number number) {
    counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
  }

  std::atomic<std::int64_t>& held_by(MemoryOwner owner) {
    return ring_.header().memory.held_bytes[static_cast<std::size_t>(owner)];
  }
  // The thread's phase; on an autograd thread, which has no marks, that of the enclosing op.
  [[nodiscard]] PhaseKind phase_now() {
    if (phase_ != PhaseKind::kNone || depth_ == 0) return phase_;
    const std::uint32_t innermost = (depth_ < kMaxOpenOps ? depth_ : kMaxOpenOps) - 1;
    return static_cast<PhaseKind>(open_ops()[innermost].phase);
  }
  OpenOp* open_ops() { return ring_.header().open_ops; }
  void set_depth(std::uint32_t depth) {
    depth_ = depth;
    ring_.header().open_depth.store(depth, std::memory_order_release);
  }

  STEPSCOPE_HOT_INLINE OpenOp* push(const OpStart& op) {
    if (depth_ >= kMaxOpenOps) [[unlikely]] {
      ring_.count_loss(LossKind::kDepth);
      set_depth(depth_ + 1);
      return nullptr;
    }
    OpenOp& frame = open_ops()[depth_];
    set_identity(frame, reinterpret_cast<std::uint64_t>(op.identity));
    frame.name = intern(op.name);
    frame.shapes = NameId::kNone;
    frame.sequence = static_cast<std::uint32_t>(op.sequence);
    frame.forward_thread = static_cast<std::uint32_t>(op.forward_thread);
    frame.scope = static_cast<std::uint8_t>(op.scope);
    frame.phase = static_cast<std::uint8_t>(phase_of(op));
    set_depth(depth_ + 1);
    return &frame;
  }

  // The phase of an op: the thread's, or, on an autograd thread, that of the enclosing node.
  STEPSCOPE_HOT_INLINE PhaseKind phase_of(const OpStart& op) {
    if (phase_ != PhaseKind::kNone) [[likely]]
      return phase_;
    if (op.scope == OpScope::kBackwardFunction) return PhaseKind::kBackward;
    if (depth_ > 0) return static_cast<PhaseKind>(open_ops()[depth_ - 1].phase);
    return infer_phase(op.sequence);
  }
  PhaseKind infer_phase(std::int64_t sequence);

  STEPSCOPE_HOT_INLINE NameId intern(const char* name) {
    const NameId known = names_.find_by_pointer(name);
    if (known != NameId::kNone) [[likely]]
      return known;
    return intern_text(name, name);
  }
  STEPSCOPE_HOT NameId intern_text(std::string_view text, const char* pointer,
                                   SlotKind kind = SlotKind::kName);

  STEPSCOPE_HOT_INLINE void write_op(const OpenOp& frame, std::uint32_t depth, Ticks end) {
    const bool with_shapes = frame.shapes != NameId::kNone;
    const std::uint64_t count = with_shapes ? 2 : 1;
    if (!ring_.has_room(count, kReservedForMarks)) [[unlikely]] {
      ring_.count_loss(LossKind::kOp);
      return;
    }
    if (with_shapes) [[unlikely]]
      ring_.slot(0).shapes = {SlotKind::kShapes, {}, frame.shapes, {}};
    const auto shown_depth = static_cast<std::uint8_t>(depth < 255 ? depth : 255);
    ring_.slot(count - 1).op = {SlotKind::kOp, frame.scope,    frame.phase,
                                shown_depth,   frame.name,     frame.start,
                                to_count(end), frame.sequence, frame.forward_thread};
    ring_.publish(count);
  }
  void end_out_of_order(const void* identity, Ticks end);
  STEPSCOPE_HOT void write_phase(PhaseKind kind, NameId name, Ticks start, Ticks end,
                                 std::int64_t cpu_ns);
  STEPSCOPE_HOT void put_phase(PhaseKind kind, NameId name, Ticks start, Ticks end,
                               std::int64_t cpu_ns);
  void lose_mark(PhaseKind kind, Ticks start, Ticks end);
  bool write_lost_time();
  STEPSCOPE_HOT std::int64_t cpu_clock_at_begin(PhaseKind kind, Ticks now);
  STEPSCOPE_HOT void follow_schedule(Ticks now, std::int64_t wall_ns, std::int64_t cpu_ns);
  STEPSCOPE_HOT void follow_schedule_if_due(Ticks now);
  // The stack belongs to the phase of the stretch.
  Ticks end_stretch(Ticks now) {
    const bool wanted = phase_ == PhaseKind::kInput || phase_ == PhaseKind::kNone;
    return stacks_.end_stretch(now, wanted, ring_);
  }
  STEPSCOPE_HOT void end_stretch_at_mark(Ticks now);
  STEPSCOPE_HOT void begin_stretch_at_mark(Ticks now, PhaseKind kind, bool begins);

  // Another thread may remove an open op by zeroing its identity (take_off()).
  static std::uint64_t identity_of(OpenOp& frame) {
    return std::atomic_ref(frame.identity).load(std::memory_order_relaxed);
  }
  static void set_identity(OpenOp& frame, std::uint64_t identity) {
    std::atomic_ref(frame.identity).store(identity, std::memory_order_relaxed);
  }

  // First the fields that each mark needs. A loop touches more memory in a step than the caches
  // hold, so each line of ours that a mark reads is a miss.
  RingProducer ring_;
  std::uint32_t depth_ = 0;
  std::uint32_t session_ = 0;
  std::uint32_t events_ = 0;  // since the last phase mark; that mark's kind is in the top bits
  PhaseKind phase_ = PhaseKind::kNone;
  bool lost_marks_ = false;  // since the last mark in the ring
  std::int64_t last_sequence_ = -1;
  alignas(64) ThreadSchedule schedule_;
  alignas(64) StackTaker stacks_;
  alignas(64) CallPhases<OpenPhase> call_phases_;
  // The thread's CPU clock, and when it was read: at the end of the last phase that has a CPU time.
  Ticks cpu_clock_read_{};
  std::int64_t cpu_clock_ns_ = 0;
  NameCache names_;
  Ticks lost_from_{}, lost_until_{};  // the time of the lost marks, if there are any
  std::uint32_t module_depth_ = 0;
  std::array<OpenModule, kMaxOpenModules> open_modules_{};
  // Held while open ops move, or while another thread looks for one of them: rarely and briefly.
  std::mutex open_ops_mutex_;
  ThreadRecorder* next_in_list_ = nullptr;
};

}  // namespace stepscope

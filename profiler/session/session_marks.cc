// The part of Session that the program's threads call: the marks of phases, steps and modules.
#include <cstdint>
#include <mutex>

#include "profiler/session/current_thread.h"
#include "profiler/session/phase_marks.h"
#include "profiler/session/session.h"
#include "profiler/session/tensor_memory.h"

namespace stepscope {
namespace {

struct Counted {
  std::uint32_t session = 0;
  StepCounter counter;
};

// The calling thread's steps in the current recording.
StepCounter& current_counter() {
  constinit thread_local Counted counted __attribute__((tls_model("initial-exec")));
  const std::uint32_t session = current_session.load(std::memory_order_relaxed);
  if (counted.session != session) counted = {session, {}};
  return counted.counter;
}

}  // namespace

// The most advanced loop determines the current step, so that a second loop does not count steps
// twice. When its thread has ended, the next loop begins to count from 1.
void Session::signal_step(StepMarker source) {
  StepCounter& counter = current_counter();
  RegionHeader* region = region_;
  const bool begins = counter.signal(source);
  if (begins || (source == StepMarker::kLoader && counter.is_in_long_evaluation())) {
    const StepCounter* const leader = leader_.load(std::memory_order_relaxed);
    const bool leads = leader == nullptr || leader == &counter;
    if (leads || counter.current() > step_.load(std::memory_order_relaxed)) {
      leader_ = &counter;
      step_ = counter.current();
      region->step.store(counter.current(), std::memory_order_relaxed);
      if (step_may_change_window(counter.current())) {
        const std::scoped_lock lock(mutex_);
        if (!active()) return;
        if (leader == nullptr) step_began_ns_ = 0;
        if (budget_) judge_step();
        apply_window();
        return;
      }
    }
  }
  follow_recorder();
}

void Session::thread_ends() noexcept {
  const StepCounter* own = &current_counter();
  leader_.compare_exchange_strong(own, nullptr);
}

// For the stack sampler, which looks at the threads from outside while one of them waits.
void Session::note_waiting(std::uint32_t tid) noexcept {
  RegionHeader* region = region_.load(std::memory_order_relaxed);
  if (region == nullptr) return;
  region->waiting_tid.store(tid, std::memory_order_relaxed);
  if (tid == 0) region->awaited_pid.store(0, std::memory_order_relaxed);
}

void Session::batch_comes_from(std::int64_t pid) noexcept {
  RegionHeader* region = region_.load(std::memory_order_relaxed);
  if (region == nullptr) return;
  region->awaited_pid.store(static_cast<std::uint32_t>(pid), std::memory_order_relaxed);
}

OpenPhase Session::begin_phase(PhaseKind kind, std::string_view name) noexcept {
  if (!active() && !join_wrapper()) return {};
  ThreadRecorder* recorder = current_thread();
  const Ticks called = read_ticks();
  const bool ops_were_wanted = ops_wanted_.load(std::memory_order_relaxed);
  const bool nested = recorder != nullptr && recorder->waits_for_input();
  if (kind == PhaseKind::kInput && !nested) signal_step(StepMarker::kLoader);
  // The least trusted source: at the start of an epoch, the sampler is asked for many batches at
  // once, to fill the workers' queues.
  if (kind == PhaseKind::kSampler) signal_step(StepMarker::kInferred);
  // In a Python loop, the only step marks may be ranges that are seen only through the op hooks. So
  // this is where it notices the recorder's requests.
  if (kind == PhaseKind::kBackward) follow_recorder();
  if (recorder == nullptr) return {};
  // The wait begins with the call. The code above takes little time, unless it switched ops on or
  // off.
  const bool switched = ops_wanted_.load(std::memory_order_relaxed) != ops_were_wanted;
  if (kind == PhaseKind::kInput && !nested)
    note_waiting(static_cast<std::uint32_t>(recorder->ring().tid));
  return recorder->begin_phase(kind, name, switched ? read_ticks() : called);
}

void Session::end_phase(const OpenPhase& phase, PhaseKind ended_as) noexcept {
  if (phase.kind == PhaseKind::kNone || !active()) return;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return;
  recorder->end_phase(phase, ended_as);
  const bool outermost = phase.outer != PhaseKind::kInput;
  if (phase.kind == PhaseKind::kInput && outermost) note_waiting(0);
  // One optimizer step may contain another, as GradScaler.step() does: together they are one step.
  const bool nested = phase.outer == PhaseKind::kOptimizer;
  if (ended_as == PhaseKind::kOptimizer && !nested) signal_step(StepMarker::kOptimizer);
  if (ended_as == PhaseKind::kInputEnd && outermost) current_counter().loader_exhausted();
}

int Session::begin_module(std::string_view label) noexcept {
  if (!records_modules()) return -1;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return -1;
  return static_cast<int>(recorder->begin_module(label, held_tensor_memory(*recorder)));
}

void Session::end_module(int depth) noexcept {
  if (depth < 0 || !active()) return;
  ThreadRecorder* recorder = thread_recorder;
  if (recorder == nullptr) return;
  recorder->end_module(static_cast<std::uint32_t>(depth), held_tensor_memory(*recorder));
}

void Session::step() noexcept {
  if (!active() && !join_wrapper()) return;
  if (ThreadRecorder* recorder = current_thread()) recorder->mark(PhaseKind::kStep);
  signal_step(StepMarker::kUser);
}

OpenPhase begin_phase_mark(PhaseKind kind, std::string_view name) {
  return Session::get().begin_phase(kind, name);
}

bool python_ranges_are_marked() { return Session::get().python_ranges_are_marked(); }

void end_phase_mark(const OpenPhase& phase) { Session::get().end_phase(phase, phase.kind); }

}  // namespace stepscope

// The part of Session that decides what is recorded now: the window, the budget, the recorder's
// requests.
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "profiler/cupti/collector.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/ring/stack_taker.h"
#include "profiler/session/copy_text.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"
#include "profiler/session/window.h"

namespace stepscope {
namespace {

// What all threads of this process have recorded so far. Nearly all events of a step with ops are
// ops.
OpBudget::Recorded recorded_so_far(const Region& region) {
  std::uint64_t events = 0, allocations = 0;
  const std::uint32_t rings = std::min(region.header->ring_count.load(std::memory_order_acquire),
                                       region.layout.ring_capacity);
  for (std::uint32_t i = 0; i < rings; ++i) {
    const RingHeader& ring = *region.ring(i);
    events += ring.head.load(std::memory_order_relaxed);
    allocations += ring.memory.allocations.load(std::memory_order_relaxed);
  }
  const std::uint64_t launches = device_area(region)->launches.load(std::memory_order_relaxed);
  return {static_cast<std::int64_t>(events), static_cast<std::int64_t>(allocations),
          static_cast<std::int64_t>(launches)};
}

// A program may change a setting or load a library at any time, but most do so before the loop or
// in its first steps.
bool is_time_to_look_around(std::int64_t step) { return step > 0 && (step <= 8 || step % 64 == 0); }

}  // namespace

// Whether what is recorded may change as the loop comes to `step`, except by the recorder's request
// or death (follow_recorder()).
bool Session::step_may_change_window(std::int64_t step) const {
  return region_.load(std::memory_order_relaxed)->plan.phases_only == 0 ||
         is_time_to_look_around(step);
}

// A recorder polls the rings every few milliseconds. If one that was gone comes back, recording
// continues.
bool Session::recorder_is_alive() {
  if (wrapper_.load(std::memory_order_relaxed) != Wrapper::kJoined) return true;
  RegionHeader& region = *region_.load();
  const std::uint64_t beat = region.heartbeat.load(std::memory_order_relaxed);
  const bool alive = heartbeat_.is_alive(beat, read_ticks(), region.patience_ticks);
  if (!alive) region.silent_beat.store(beat, std::memory_order_relaxed);
  return alive;
}

// mutex_ is held.
void Session::apply_window() {
  RegionHeader* region = region_;
  if (region == nullptr) return;
  applied_switch_ = region->ops_switch.load(std::memory_order_relaxed);
  applied_alive_ = recorder_is_alive();
  if (is_time_to_look_around(step_)) look_around();
  const bool planned =
      applied_alive_ && !recorder_failed_ && ops_wanted(region->plan, applied_switch_, step_);
  apply_ops(planned && budget_allows_ops());
  // Not before the ops, whose first step should have all of them: starting CUPTI takes
  // milliseconds. In all steps of the window, even if the budget allows ops in some only: a device
  // still works for earlier steps when a step begins, and would look idle without their kernels.
  follow_device(planned);
}

// mutex_ is held. CUDA is looked for before the first step that needs to know, because the first
// walk through hundreds of libraries takes up to half a millisecond, and the program takes it for
// its own.
void Session::look_around() {
  note_torch_settings();
  cuda_is_in_use();
}

// mutex_ is held.
void Session::apply_ops(bool wanted) {
  RegionHeader* region = region_;
  const HookApi* hooks = hooks_;
  const bool watches_ranges = python_ && applied_alive_ && !python_ranges_are_marked();
  // Most steps end here: what follows would read a lot of memory that a step has pushed out of the
  // caches, and change nothing.
  const AppliedWindow window{hooks, wanted, applied_alive_, watches_ranges};
  const bool marked = hooks == nullptr || ops_marked_ == wanted;
  if (applied_window_ == window && marked) return;
  applied_window_ = window;
  if (ops_wanted_.exchange(wanted, std::memory_order_relaxed) != wanted) {
    if (const auto changed = ops_changed_.load(); changed != nullptr) changed();
  }
  follow_stacks();
  if (hooks == nullptr) return;
  HookMode mode = watches_ranges ? HookMode::kUserScopes : HookMode::kOff;
  if (wanted) mode = region->plan.shapes != 0 ? HookMode::kOpsAndShapes : HookMode::kOps;
  if (!wanted) mark_ops(false, read_ticks());
  hooks->set_mode(mode);
  if (wanted) mark_ops(true, read_ticks());
  // Check again: on_recorder_failure() takes no lock and may have switched the hooks off meanwhile.
  if (recorder_failed_) hooks->set_mode(HookMode::kOff);
  region->ops_enabled.store(wanted ? 1 : 0, std::memory_order_relaxed);
}

// mutex_ is held. Ops that are switched on by request are recorded at any cost.
bool Session::budget_allows_ops() const {
  return applied_switch_ != OpsSwitch::kPlan || !budget_ || budget_->wants_ops();
}

// mutex_ is held. Marks that from `at` on, the ops of this process are recorded or no longer
// recorded. Each step between two marks has all of its ops or none.
void Session::mark_ops(bool on, Ticks at) {
  if (on == ops_marked_) return;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return;
  ops_marked_ = on;
  recorder->mark_ops(on, at);
}

// Called late, because programs change the settings after libtorch was loaded: when some of the
// steps begin and, since not every loop marks its steps, on the first op with a new name, such as
// the first convolution. Takes no lock.
void Session::note_torch_settings() {
  const HookApi* hooks = hooks_.load(std::memory_order_relaxed);
  RegionHeader* region = region_.load(std::memory_order_relaxed);
  if (hooks == nullptr || region == nullptr) return;
  region->cudnn_benchmark.store(hooks->cudnn_benchmark() ? TorchSwitch::kOn : TorchSwitch::kOff,
                                std::memory_order_relaxed);
}

// mutex_ is held. If ops are recorded in some steps only, stacks are taken only in those steps: in
// the others, stretches last from one mark to the next, so stacks would say less.
void Session::follow_stacks() noexcept {
  const bool has_ops = hooks_ != nullptr && wants_ops_;
  const bool now =
      takes_stacks_ && applied_alive_ && (!has_ops || ops_wanted_.load(std::memory_order_relaxed));
  const RecordPlan& plan = region_.load()->plan;
  const std::uint8_t rate = has_ops && has_ops_in_some_steps(plan) ? kStackRateInSomeSteps : 1;
  StackTaker::set_period(now ? plan.stack_period_ticks : 0, rate, read_ticks());
}

// mutex_ is held.
void Session::follow_device(bool wanted) noexcept try {
  const Region region = ring_registry().region();
  const auto line = Collector::get().follow(region, wanted);
  if (!line) return;
  if (wrapper_ != Wrapper::kJoined && recorder_ != nullptr) {
    tell(line->c_str());
    return;
  }
  DeviceArea* area = device_area(region);
  copy_text(area->notice, sizeof(area->notice), *line);
  area->has_notice.store(1, std::memory_order_release);
} catch (...) {
  count_failure();
}

// mutex_ is held. A step of the leading loop has ended: ops may begin or end here.
void Session::judge_step() {
  const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
  const OpBudget::Recorded recorded = recorded_so_far(ring_registry().region());
  if (step_began_ns_ != 0) {
    budget_->step_ended(now - step_began_ns_, {recorded.events - recorded_before_.events,
                                               recorded.allocations - recorded_before_.allocations,
                                               recorded.launches - recorded_before_.launches});
  }
  step_began_ns_ = now;
  recorded_before_ = recorded;
  RegionHeader& region = *region_.load();
  region.op_steps_ppm.store(budget_ppm(budget_->op_step_share()), std::memory_order_relaxed);
  region.cost_ppm.store(budget_ppm(budget_->spent()), std::memory_order_relaxed);
}

void Session::mark_python_ranges(bool marked) noexcept {
  python_marks_ += marked ? 1 : -1;
  const std::scoped_lock lock(mutex_);
  if (active()) apply_window();
}

void Session::follow_recorder() {
  const RegionHeader* region = region_.load(std::memory_order_relaxed);
  if (region == nullptr) return;
  if (region->ops_switch.load(std::memory_order_relaxed) == applied_switch_ &&
      recorder_is_alive() == applied_alive_) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (active()) apply_window();
}

}  // namespace stepscope

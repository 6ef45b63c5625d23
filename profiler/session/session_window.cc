// What of Session decides what is recorded right now: the window, the budget, the recorder's
// wishes.
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "profiler/cupti/collector.h"
#include "profiler/ring/stack_taker.h"
#include "profiler/session/copy_text.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"
#include "profiler/session/window.h"

namespace stepscope {
namespace {

// All events that the threads of this process have written so far: nearly all of them are ops.
std::uint64_t events_written(const Region& region) {
  std::uint64_t events = 0;
  const std::uint32_t rings = std::min(region.header->ring_count.load(std::memory_order_acquire),
                                       region.layout.ring_capacity);
  for (std::uint32_t i = 0; i < rings; ++i)
    events += region.ring(i)->head.load(std::memory_order_relaxed);
  return events;
}

}  // namespace

// A recorder looks at the rings each few milliseconds. Should one that was gone come back,
// recording goes on.
bool Session::recorder_is_alive() {
  if (wrapper_.load(std::memory_order_relaxed) != Wrapper::kJoined) return true;
  const RegionHeader& region = *region_.load();
  return heartbeat_.is_alive(region.heartbeat.load(std::memory_order_relaxed), read_ticks(),
                             region.patience_ticks);
}

// mutex_ is held.
void Session::apply_window() {
  RegionHeader* region = region_;
  if (region == nullptr) return;
  applied_switch_ = region->ops_switch.load(std::memory_order_relaxed);
  applied_alive_ = recorder_is_alive();
  const bool planned =
      applied_alive_ && !recorder_failed_ && ops_wanted(region->plan, applied_switch_, step_);
  const bool wanted = planned && budget_allows_ops();
  if (ops_wanted_.exchange(wanted, std::memory_order_relaxed) != wanted) {
    if (const auto changed = ops_changed_.load(); changed != nullptr) changed();
  }
  follow_device(
      planned);  // the budget is for ops: to start and stop CUPTI costs more than it saves
  follow_stacks();
  const HookApi* hooks = hooks_;
  if (hooks == nullptr) return;
  if (step_ > 0) note_torch_settings();
  HookMode mode = python_ && applied_alive_ ? HookMode::kUserScopes : HookMode::kOff;
  if (wanted) mode = region->plan.shapes != 0 ? HookMode::kOpsAndShapes : HookMode::kOps;
  if (!wanted) mark_ops(false, read_ticks());
  hooks->set_mode(mode);
  if (wanted) mark_ops(true, read_ticks());
  // Asked again: on_recorder_failure() takes no lock and may have switched the hooks off meanwhile.
  if (recorder_failed_) hooks->set_mode(HookMode::kOff);
  region->ops_enabled.store(wanted ? 1 : 0, std::memory_order_relaxed);
}

// mutex_ is held. On demand ops are recorded whatever they cost.
bool Session::budget_allows_ops() const {
  return applied_switch_ != OpsSwitch::kPlan || !budget_ || budget_->wants_ops();
}

// mutex_ is held. From `at` on the ops of this process are recorded, or are not any more. The
// steps in between have all of their ops, or none.
void Session::mark_ops(bool on, Ticks at) {
  if (on == ops_marked_) return;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return;
  ops_marked_ = on;
  recorder->mark_ops(on, at);
}

// Late, for programs set them after libtorch was loaded: as a step begins, or, since not every loop
// tells of its steps, as an op of a new name does, which the first convolution is. Takes no lock.
void Session::note_torch_settings() {
  const HookApi* hooks = hooks_.load(std::memory_order_relaxed);
  RegionHeader* region = region_.load(std::memory_order_relaxed);
  if (hooks == nullptr || region == nullptr) return;
  region->cudnn_benchmark.store(hooks->cudnn_benchmark() ? TorchSwitch::kOn : TorchSwitch::kOff,
                                std::memory_order_relaxed);
}

// mutex_ is held. Where ops are recorded in some steps, stacks are taken in those: in the others,
// whose stretches last from one mark to the next, they would say less.
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
  const std::uint64_t events = events_written(ring_registry().region());
  if (step_began_ns_ != 0)
    budget_->step_ended(now - step_began_ns_, static_cast<std::int64_t>(events - events_before_));
  step_began_ns_ = now;
  events_before_ = events;
  RegionHeader& region = *region_.load();
  region.op_steps_ppm.store(budget_ppm(budget_->op_step_share()), std::memory_order_relaxed);
  region.op_cost_ppm.store(budget_ppm(budget_->spent()), std::memory_order_relaxed);
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

// The op hooks: a RecordFunction callback that records each op in the thread's ring.
//
// Built per libtorch version; see hook_api.h. Always compiled with NDEBUG: without it,
// RecordFunction::inputs() checks a member that a release libtorch does not maintain.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "profiler/hook_api.h"
#include "profiler/hooks/layout_check.h"
#include "profiler/hooks/shapes_text.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/phase_marks.h"
#include "store/python_range.h"

namespace stepscope {
namespace {

OpStart op_start(const at::RecordFunction& fn, const char* name) {
  return {&fn, name, fn.seqNr(), fn.forwardThreadId(), static_cast<OpScope>(fn.scope())};
}

// A user scope may end on another thread than it began on (a future completes there), so its start
// is kept with it. Only this case allocates; there are just a few user scopes per step.
struct UserScope final : at::ObserverContext {
  ThreadRecorder* recorder = nullptr;  // compared, never followed: its thread may be gone
  std::uint64_t torch_id = 0;
  Ticks start{};
  std::int64_t sequence = -1;
  bool is_op = false;  // also written as an op
  std::string name;
  OpenPhase phase;  // for a range that PyTorch itself opens; else none
};

// If memory runs out, the op is lost and counted.
template <bool kOps>
std::unique_ptr<at::ObserverContext> begin_user_scope(const at::RecordFunction& fn) noexcept try {
  const PythonRange range = python_range(fn.name());
  const bool is_marked = range.kind != PhaseKind::kNone && python_ranges_are_marked();
  if (!kOps && (range.kind == PhaseKind::kNone || is_marked)) return nullptr;
  auto scope = std::make_unique<UserScope>();
  // The range lies around the phase that is marked. As an op it would reach into the next step.
  if (is_marked) return scope;
  scope->name = fn.name();
  if (range.kind != PhaseKind::kNone) scope->phase = begin_phase_mark(range.kind, range.name);
  if constexpr (kOps) {
    ThreadRecorder* recorder = current_thread();
    if (recorder == nullptr) return scope;
    scope->recorder = recorder;
    scope->torch_id = fn.threadId();
    scope->sequence = fn.seqNr();
    scope->is_op = true;
    recorder->start_op(op_start(fn, scope->name.c_str()));
    scope->start = read_ticks();
  }
  return scope;
} catch (...) {
  if (ThreadRecorder* recorder = current_thread()) recorder->count_lost_op();
  return nullptr;
}

void end_scope_op(const at::RecordFunction& fn, const UserScope& scope, ThreadRecorder* recorder) {
  if (recorder == scope.recorder) {
    recorder->end_op(&fn);
    return;
  }
  const OpStart op{&fn, scope.name.c_str(), scope.sequence, 0, OpScope::kUser};
  recorder->foreign_op(op, scope.start, scope.torch_id);
  ring_registry().end_elsewhere(scope.torch_id, &fn);
}

void end_user_scope(const at::RecordFunction& fn, const UserScope& scope) {
  ThreadRecorder* recorder = thread_recorder;
  if (scope.is_op && recorder != nullptr) end_scope_op(fn, scope, recorder);
  end_phase_mark(scope.phase);
}

// An op without its shapes is better than none.
std::string_view shapes_or_nothing(const at::RecordFunction& fn) noexcept try {
  return shapes_text(fn);
} catch (...) {
  return {};
}

template <bool kShapes>
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  if (fn.scope() == at::RecordScope::USER_SCOPE) [[unlikely]]
    return begin_user_scope<true>(fn);
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) [[unlikely]]
    return nullptr;
  if constexpr (kShapes) {
    recorder->start_op(op_start(fn, fn.name()), shapes_or_nothing(fn));
  } else {
    recorder->start_op(op_start(fn, fn.name()));
  }
  return nullptr;
}

void on_end(const at::RecordFunction& fn, at::ObserverContext* context) {
  if (context != nullptr) [[unlikely]] {
    end_user_scope(fn, *static_cast<UserScope*>(context));
    return;
  }
  ThreadRecorder* recorder = thread_recorder;
  if (recorder == nullptr) [[unlikely]]
    return;
  recorder->end_op(&fn);
}

at::RecordFunctionCallback callback_of(HookMode mode) {
  switch (mode) {
    case HookMode::kOpsAndShapes:
      return at::RecordFunctionCallback(on_start<true>, on_end).needsInputs(true);
    case HookMode::kUserScopes:
      return at::RecordFunctionCallback(begin_user_scope<false>, on_end)
          .scopes({at::RecordScope::USER_SCOPE});
    case HookMode::kOps:
    case HookMode::kOff:
      break;
  }
  return at::RecordFunctionCallback(on_start<false>, on_end);
}

std::mutex callback_mutex;
// Guarded by callback_mutex.
at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
HookMode current_mode = HookMode::kOff;

std::atomic<bool> ops_are_recorded{false};

// If memory for a callback runs out, nothing is recorded until the mode is set again.
void set_mode(HookMode mode) noexcept try {
  const std::scoped_lock lock(callback_mutex);
  if (mode == current_mode) return;
  current_mode = HookMode::kOff;
  ops_are_recorded = false;
  const at::CallbackHandle before = std::exchange(callback, at::INVALID_CALLBACK_HANDLE);
  if (before != at::INVALID_CALLBACK_HANDLE) at::removeCallback(before);
  if (mode == HookMode::kOff) return;
  callback = at::addGlobalCallback(callback_of(mode));
  current_mode = mode;
  ops_are_recorded = mode == HookMode::kOps || mode == HookMode::kOpsAndShapes;
} catch (...) {
}

// How long `ticks` are; -1: the two readings are of one moment. A ClockMap could say it too, but
// what one of our libraries allocates another must not free: only this one shares the program's
// operator new.
std::int64_t in_ns(std::uint64_t ticks, const ClockReading& before, const ClockReading& after) {
  const std::uint64_t elapsed = to_count(after.ticks) - to_count(before.ticks);
  if (elapsed == 0) return -1;
  const auto elapsed_ns = static_cast<double>(after.monotonic_ns - before.monotonic_ns);
  return std::llround(static_cast<double>(ticks) * elapsed_ns / static_cast<double>(elapsed));
}

// The last op's start and duration, as the hooks would have seen it.
thread_local Ticks probe_start{};
thread_local std::uint64_t probe_ticks = 0;

std::int64_t measure_leaf_op_overhead_ns() noexcept try {
  constexpr std::size_t kWarmUp = 100;  // fills the caches of the dispatcher and the allocator
  std::array<std::uint64_t, 201> samples{};
  const at::Tensor one = at::ones({1});
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        probe_start = read_ticks();
        return nullptr;
      },
      [](const at::RecordFunction&, at::ObserverContext*) {
        probe_ticks = to_count(read_ticks()) - to_count(probe_start);
      }));
  const ClockReading before = read_clocks();
  for (std::size_t i = 0; i < kWarmUp + samples.size(); ++i) {
    at::add(one, one);
    if (i >= kWarmUp) samples[i - kWarmUp] = probe_ticks;
  }
  const ClockReading after = read_clocks();
  at::removeCallback(handle);
  // Median: among 200 ops, one preemption is likely, but not that half of them are preempted.
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return in_ns(samples[samples.size() / 2], before, after);
} catch (...) {
  return -1;  // not calibrated
}

bool cudnn_benchmark() { return at::globalContext().benchmarkCuDNN(); }

// False if a thread has its own callbacks: setting its state may then change something.
bool is_current_tls(const void* record_function_tls) {
  if (!ops_are_recorded.load(std::memory_order_relaxed)) return false;
  const auto& wanted = *static_cast<const at::RecordFunctionTLS*>(record_function_tls);
  const at::RecordFunctionTLS& current = at::get_record_function_tls_();
  return wanted.tls_record_function_enabled_ == current.tls_record_function_enabled_ &&
         wanted.sorted_tls_callbacks_.empty() && current.sorted_tls_callbacks_.empty();
}

constexpr HookApi kHooks{set_mode, measure_leaf_op_overhead_ns, cudnn_benchmark, is_current_tls};

}  // namespace
}  // namespace stepscope

extern "C" __attribute__((visibility("default"))) const stepscope::HookApi* stepscope_torch_hooks(
    const char* id, const char* torch_version, const char** error) {
  if (std::strcmp(id, STEPSCOPE_HOOKS_ID) != 0) {
    *error = "they belong to Stepscope " STEPSCOPE_HOOKS_ID;
    return nullptr;
  }
  if (std::strcmp(torch_version, TORCH_VERSION) != 0) {
    *error = "they were built for libtorch " TORCH_VERSION;
    return nullptr;
  }
  if (!stepscope::libtorch_has_the_compiled_layout()) {
    *error =
        "they do not fit this build of libtorch " TORCH_VERSION ", which differs from the release";
    return nullptr;
  }
  stepscope::set_torch_id_function(&at::RecordFunction::currentThreadId);
  return &stepscope::kHooks;
}

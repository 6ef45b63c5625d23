// The recording of this process: starts and stops it, knows the step, opens and closes the window.
//
// A process is recorded in one of two ways. Embedded: start() makes the rings and loads the
// recorder, a thread. Wrapped, under `stepscope run`: join_wrapper() asks the recorder process for
// a region and writes into that; start() and stop() then do nothing, the program's marks go to the
// wrapper's store.
//
// Thread safety: all members. Marks of training threads take no lock unless the step changes.
// Invariant: no exception of ours reaches the program. Failures for lack of memory or
// threads end here; they are counted (RegionHeader::failures) and affect only the recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "profiler/hook_api.h"
#include "profiler/ring/thread_recorder.h"
#include "profiler/session/heartbeat_watch.h"
#include "profiler/session/hook_library.h"
#include "profiler/session/op_budget.h"
#include "profiler/session/recorder_library.h"
#include "profiler/session/step_counter.h"
#include "stepscope/c_api.h"
#include "store/status.h"

namespace stepscope {

class Session {
 public:
  // The one of this process. Never destroyed: threads may outlive static destructors.
  static Session& get();

  // Errors: kBusy (a recording is running), kUsage (a window that ends before it begins),
  // kUnavailable (the recorder's library), those of TraceWriter::create().
  Status start(const stepscope_options& options);
  Status stop();
  // Whether events are accepted; after a failure of the recorder only phases are, and only counted.
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool recording() const { return active() && !recorder_failed_; }

  // Begins a phase of the calling thread. Nothing when there is no recording.
  OpenPhase begin_phase(PhaseKind kind, std::string_view name) noexcept;
  // `ended_as` may differ from what was begun: a wait for input that found the end.
  void end_phase(const OpenPhase& phase, PhaseKind ended_as) noexcept;
  // The batch that a thread of this process waits for, or will next, is made by the process `pid`.
  void batch_comes_from(std::int64_t pid) noexcept;
  // A call of the module `label` (ThreadRecorder::begin_module()). Returns its depth; -1: no ops
  // are recorded now, so none of modules either.
  int begin_module(std::string_view label) noexcept;
  void end_module(int depth) noexcept;
  // `changed` is called when the recording of ops begins or ends, with the session's lock held:
  // it may only note that.
  void on_ops_change(void (*changed)()) noexcept { ops_changed_ = changed; }
  [[nodiscard]] bool records_modules() const { return records_ops() && hooks_ != nullptr; }
  // The user's step() on the calling thread.
  void step() noexcept;

  // Whether this process is recorded by `stepscope run`; joins it with the first call.
  bool join_wrapper() noexcept;
  // libtorch is loaded and its constructors have run: loads the hooks for it, once.
  // `may_run_ops`: no program code is running that the ops of a calibration could disturb.
  void torch_is_loaded(bool may_run_ops) noexcept;
  // Whether the hooks see the ranges that PyTorch opens in Python.
  [[nodiscard]] bool sees_user_scopes() const { return hooks_ != nullptr; }
  // Whether ops are recorded now: it is their window.
  [[nodiscard]] bool records_ops() const {
    return active() && ops_wanted_.load(std::memory_order_relaxed);
  }
  // Whether a state of callbacks (an at::RecordFunctionTLS) that libtorch is about to set is the
  // calling thread's already. False also while no ops are recorded.
  [[nodiscard]] bool is_current_tls(const void* record_function_tls) const {
    const HookApi* hooks = hooks_.load(std::memory_order_acquire);
    return hooks != nullptr && hooks->is_current_tls(record_function_tls);
  }
  // The process is about to exit. Async-signal-safe; does nothing in a child of vfork().
  void mark_exit(int code) noexcept;
  // An exception was caught in our own code, in the program. Async-signal-safe.
  void count_failure() noexcept;

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  enum class Wrapper : std::uint8_t { kUnknown, kAbsent, kJoined };

  Session();

  static void install_fork_handlers();
  void note_waiting(std::uint32_t tid) noexcept;
  // mutex_ is held.
  Status start_embedded(const RecorderLibrary& library, const stepscope_options& options);
  Status try_to_start(const RecorderLibrary& library, const stepscope_options& options);
  Status prepare_region(const stepscope_options& options);
  Meta meta_of(const stepscope_options& options) const;
  [[nodiscard]] Meta meta_at_end() const;
  void begin_recording(const Region& region);
  void find_hooks(bool may_run_ops) noexcept;
  void look_for_hooks(bool may_run_ops);
  void tell(const char* line);
  void signal_step(StepMarker source);
  void judge_step();
  [[nodiscard]] bool budget_allows_ops() const;
  void mark_ops(bool on, Ticks at);
  // The recorder may have changed its request, or died, since the window was applied.
  void follow_recorder();
  void apply_window();
  void note_torch_settings();
  void follow_device(bool wanted) noexcept;
  void follow_stacks() noexcept;
  [[nodiscard]] bool recorder_is_alive();
  bool join_now();
  void on_recorder_failure(const Status& status) noexcept;
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<bool> active_{false};
  std::atomic<bool> recorder_failed_{false};  // the embedded one: no op is wanted any more
  std::atomic<Wrapper> wrapper_{Wrapper::kUnknown};
  std::atomic<pid_t> joined_as_{0};
  std::atomic<bool> torch_searched_{false};
  std::atomic<const HookApi*> hooks_{nullptr};
  std::atomic<RegionHeader*> region_{nullptr};       // where the recording goes
  std::atomic<const StepCounter*> leader_{nullptr};  // of the loop that is furthest; compared only
  std::atomic<std::int64_t> step_{0};
  std::atomic<OpsSwitch> applied_switch_{OpsSwitch::kPlan};
  std::atomic<bool> applied_alive_{true};
  HeartbeatWatch heartbeat_;
  std::atomic<bool> ops_wanted_{false};
  std::atomic<void (*)()> ops_changed_{nullptr};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<EmbeddedRecorder> recorder_;
  EmbeddedRecorder* parents_recorder_ = nullptr;  // after a fork; only to avoid a leak report
  std::string output_;
  bool wants_ops_ = false;
  bool python_ = false;              // its interpreter was there when libtorch was looked for
  bool takes_stacks_ = false;        // it is no Python program, whose frames are read from outside
  std::optional<OpBudget> budget_;   // where ops are recorded in some steps only
  std::int64_t step_began_ns_ = 0;   // of the leading loop, CLOCK_MONOTONIC; 0: none has
  std::uint64_t events_before_ = 0;  // when it began
  bool ops_marked_ = false;          // the last mark_ops()
  std::map<std::size_t, Region> private_regions_;  // by ring size; kept for threads that linger
};

}  // namespace stepscope

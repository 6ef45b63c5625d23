// The recording of this process: starts and stops it, tracks the step, opens and closes the window.
//
// A process is recorded in one of two ways. Embedded: start() creates the rings and loads the
// recorder, which runs on a thread. Wrapped, under `stepscope run`: join_wrapper() asks the
// recorder process for a region to write to. Then start() and stop() do nothing, and the program's
// marks go to the wrapper's store.
//
// Thread safety: all members. Marks of training threads take no lock unless the step changes.
// Invariant: none of our exceptions reaches the program. Failures due to a lack of memory or
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
  // The session of this process. Never destroyed: threads may outlive static destructors.
  static Session& get() {
    Session* const session = made_.load(std::memory_order_acquire);
    return session != nullptr ? *session : make();
  }

  // Errors: kBusy (a recording is running), kUsage (invalid options, such as a window that ends
  // before it begins), kUnavailable (the recorder's library), those of TraceWriter::create().
  Status start(const stepscope_options& options);
  Status stop();
  // Whether events are accepted. After a failure of the recorder, only phases are, and they are
  // only counted.
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool recording() const { return active() && !recorder_failed_; }

  // Begins a phase of the calling thread. Begins nothing without a recording.
  STEPSCOPE_HOT OpenPhase begin_phase(PhaseKind kind, std::string_view name) noexcept;
  // `ended_as` may differ from the kind that was begun, when a wait for input finds the loader
  // exhausted.
  STEPSCOPE_HOT void end_phase(const OpenPhase& phase, PhaseKind ended_as) noexcept;
  // Process `pid` makes the batch that a thread of this process waits for now or next.
  STEPSCOPE_HOT void batch_comes_from(std::int64_t pid) noexcept;
  // Begins a call of the module `label` (ThreadRecorder::begin_module()). Returns its depth; -1
  // while no ops, and therefore no modules, are recorded.
  int begin_module(std::string_view label) noexcept;
  void end_module(int depth) noexcept;
  // `changed` is called when the recording of ops begins or ends, with the session's lock held: it
  // may do no more than set a flag.
  void on_ops_change(void (*changed)()) noexcept { ops_changed_ = changed; }
  [[nodiscard]] bool records_modules() const { return records_ops() && hooks_ != nullptr; }
  // The user called step() on the calling thread.
  STEPSCOPE_HOT void step() noexcept;
  // The calling thread ends: its loop no longer determines the current step.
  void thread_ends() noexcept;

  // Whether `stepscope run` records this process; the first call joins its recording.
  STEPSCOPE_HOT bool join_wrapper() noexcept;
  // Call when libtorch is loaded and its constructors have run: loads the hooks for it, once.
  // `may_run_ops`: no program code is running that calibration ops could disturb.
  STEPSCOPE_HOT void torch_is_loaded(bool may_run_ops) noexcept;
  // The Python package begins or ceases to mark what PyTorch opens ranges around. Calls count.
  void mark_python_ranges(bool marked) noexcept;
  [[nodiscard]] bool python_ranges_are_marked() const {
    return python_marks_.load(std::memory_order_relaxed) > 0;
  }
  // Whether ops are recorded now.
  [[nodiscard]] bool records_ops() const {
    return active() && ops_wanted_.load(std::memory_order_relaxed);
  }
  // The same for the session of this process, which need not exist yet.
  [[nodiscard]] static bool exists_and_records_ops() {
    const Session* const session = made_.load(std::memory_order_acquire);
    return session != nullptr && session->records_ops();
  }
  // Whether the callback state (an at::RecordFunctionTLS) that libtorch is about to set equals the
  // calling thread's current one. Always false while no ops are recorded.
  [[nodiscard]] bool is_current_tls(const void* record_function_tls) const {
    const HookApi* hooks = hooks_.load(std::memory_order_acquire);
    return hooks != nullptr && hooks->is_current_tls(record_function_tls);
  }
  // Call when the process is about to exit. Async-signal-safe; does nothing in a child of vfork().
  void mark_exit(int code) noexcept;
  // The same, when exit handlers run: if the process has libtorch, but nothing in it has made it
  // join the recording, the recorder is told so.
  void report_if_unrecorded() const noexcept;
  // Counts an exception that was caught in our own code inside the program. Async-signal-safe.
  void count_failure() noexcept;

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  enum class Wrapper : std::uint8_t { kUnknown, kAbsent, kJoined };
  // What apply_window() depends on.
  struct AppliedWindow {
    const HookApi* hooks = nullptr;
    bool wanted = false;
    bool recorder_is_alive = false;
    bool watches_ranges = false;
    bool operator==(const AppliedWindow&) const = default;
  };

  Session();
  static Session& make();

  static void install_fork_handlers();
  STEPSCOPE_HOT void note_waiting(std::uint32_t tid) noexcept;
  // mutex_ is held.
  Status start_embedded(const RecorderLibrary& library, const stepscope_options& options);
  static void stop_at_exit();
  Status try_to_start(const RecorderLibrary& library, const stepscope_options& options);
  Status prepare_region(const stepscope_options& options);
  Meta meta_of(const stepscope_options& options) const;
  [[nodiscard]] Meta meta_at_end() const;
  void begin_recording(const Region& region);
  void find_hooks(bool may_run_ops) noexcept;
  void look_for_hooks(bool may_run_ops);
  void tell(const char* line);
  STEPSCOPE_HOT void signal_step(StepMarker source);
  STEPSCOPE_HOT [[nodiscard]] bool step_may_change_window(std::int64_t step) const;
  STEPSCOPE_HOT void judge_step();
  STEPSCOPE_HOT [[nodiscard]] bool budget_allows_ops() const;
  void mark_ops(bool on, Ticks at);
  // Applies the window again if the recorder has changed its request or died since.
  STEPSCOPE_HOT void follow_recorder();
  STEPSCOPE_HOT void apply_window();
  void look_around();
  STEPSCOPE_HOT void apply_ops(bool wanted);
  void note_torch_settings();
  STEPSCOPE_HOT void follow_device(bool wanted) noexcept;
  void follow_stacks() noexcept;
  STEPSCOPE_HOT [[nodiscard]] bool recorder_is_alive();
  bool join_now();
  void on_recorder_failure(const Status& status) noexcept;
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  static std::atomic<Session*> made_;

  std::atomic<bool> active_{false};
  std::atomic<bool> recorder_failed_{false};  // the embedded recorder: no more ops are wanted
  std::atomic<Wrapper> wrapper_{Wrapper::kUnknown};
  std::atomic<pid_t> joined_as_{0};
  std::atomic<bool> torch_searched_{false};
  std::atomic<const HookApi*> hooks_{nullptr};
  // Of the process that this one was forked from, or of one further up; nullptr: none was recorded.
  std::atomic<RegionHeader*> inherited_region_{nullptr};
  std::atomic<RegionHeader*> region_{nullptr};       // where the recording is written
  std::atomic<const StepCounter*> leader_{nullptr};  // of the most advanced loop; only compared
  std::atomic<std::int64_t> step_{0};
  std::atomic<OpsSwitch> applied_switch_{OpsSwitch::kPlan};
  std::atomic<bool> applied_alive_{true};
  HeartbeatWatch heartbeat_;
  std::atomic<int> python_marks_{0};  // mark_python_ranges()
  std::atomic<bool> ops_wanted_{false};
  std::atomic<void (*)()> ops_changed_{nullptr};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<EmbeddedRecorder> recorder_;
  EmbeddedRecorder* parents_recorder_ = nullptr;  // after a fork; only to avoid a leak report
  std::string output_;
  bool wants_ops_ = false;
  bool python_ = false;        // the interpreter was loaded when libtorch was searched
  bool takes_stacks_ = false;  // not in Python programs, whose frames are read from outside
  std::optional<AppliedWindow> applied_window_;  // unset: none in this recording
  std::optional<OpBudget> budget_;               // set if ops are recorded in some steps only
  std::int64_t step_began_ns_ = 0;      // of the leading loop, CLOCK_MONOTONIC; 0: none has begun
  OpBudget::Recorded recorded_before_;  // by all threads, when it began
  bool ops_marked_ = false;             // the last mark_ops()
  std::map<std::size_t, Region> private_regions_;  // by ring size; threads may still use them
};

}  // namespace stepscope

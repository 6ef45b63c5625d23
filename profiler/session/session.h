// The recording of this process: starts and stops it, knows the step, opens and closes the window.
//
// Thread safety: all members. Marks of training threads take no lock unless they may change the
// step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "profiler/hooks/hook_api.h"
#include "profiler/recorder/recorder.h"
#include "profiler/ring/thread_recorder.h"
#include "profiler/session/step_counter.h"
#include "stepscope/c_api.h"
#include "store/status.h"

namespace stepscope {

class Session {
 public:
  // The one of this process. Never destroyed: threads may outlive static destructors.
  static Session& get();

  // Errors: kBusy (a recording is running), kUsage (a window that ends before it begins), those of
  // TraceWriter::create().
  Status start(const stepscope_options& options);
  Status stop();
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_relaxed); }

  // Begins a phase of the calling thread. Nothing when there is no recording.
  OpenPhase begin_phase(PhaseKind kind, std::string_view name);
  // `ended_as` may differ from what was begun: a wait for input that found the end.
  void end_phase(const OpenPhase& phase, PhaseKind ended_as);
  // The user's step() on the calling thread.
  void step();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  Session();

  Recorder::Meta meta_of(const stepscope_options& options) const;
  void load_hooks_for(const stepscope_options& options, Recorder::Meta& meta);
  void signal_step(StepMarker source);
  void apply_window();  // mutex_ is held
  void on_recorder_failure(const Status& status);
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<bool> active_{false};
  std::atomic<const HookApi*> hooks_{nullptr};  // while a recording runs that wants ops

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<Recorder> recorder_;
  std::string output_;
  StepCounter steps_;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  bool shapes_ = false;
};

}  // namespace stepscope

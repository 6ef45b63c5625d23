#include "profiler/session/session.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "profiler/recorder/process_info.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/hook_library.h"

namespace stepscope {

Session& Session::get() {
  static auto* const session = new Session;
  return *session;
}

Session::Session() {
  TraceWriter::install_fork_handlers();  // the store's lock is taken under ours, at a fork too
  pthread_atfork(&Session::before_fork, &Session::after_fork_in_parent,
                 &Session::after_fork_in_child);
}

Status Session::start(const stepscope_options& options) {
  const std::scoped_lock lock(mutex_);
  if (recorder_ != nullptr) {
    return Status::error(ErrorKind::kBusy,
                         std::string(options.output == nullptr ? "" : options.output) +
                             ": not recorded: a recording into " + output_ +
                             " is running in this process; stop it first");
  }
  if (options.output == nullptr || *options.output == '\0') {
    return Status::error(ErrorKind::kUsage, "not recorded: the output path is empty");
  }
  if (options.first_step < 0 || options.last_step < 0 ||
      (options.last_step != 0 && options.first_step > options.last_step)) {
    return Status::error(ErrorKind::kUsage, std::string(options.output) + ": not recorded: steps " +
                                                std::to_string(options.first_step) + "-" +
                                                std::to_string(options.last_step) +
                                                " are no window; steps count from 1");
  }
  ring_registry().set_ring_bytes(options.ring_bytes);
  Recorder::Meta meta = meta_of(options);
  load_hooks_for(options, meta);
  auto recorder = Recorder::start(options.output, ring_registry(), meta,
                                  [this](const Status& status) { on_recorder_failure(status); });
  if (!recorder.ok()) {
    hooks_ = nullptr;
    return recorder.status();
  }
  recorder_ = std::move(*recorder);
  output_ = options.output;
  steps_ = {};
  first_step_ = options.first_step;
  last_step_ =
      options.last_step == 0 ? std::numeric_limits<std::int64_t>::max() : options.last_step;
  shapes_ = options.record_shapes != 0;
  current_session.fetch_add(1, std::memory_order_relaxed);
  active_ = true;
  apply_window();
  return {};
}

Status Session::stop() {
  std::unique_ptr<Recorder> recorder;
  Recorder::Meta meta;
  {
    const std::scoped_lock lock(mutex_);
    active_ = false;
    if (const HookApi* hooks = hooks_.exchange(nullptr); hooks != nullptr) hooks->disable();
    recorder = std::move(recorder_);
    meta = {{"step_count", std::to_string(steps_.completed())}};
  }
  if (recorder == nullptr) return {};
  return recorder->stop(meta);  // without the lock: a training thread may want to mark meanwhile
}

Recorder::Meta Session::meta_of(const stepscope_options& options) const {
  Recorder::Meta meta = machine_meta();
  meta.emplace_back("stepscope_version", STEPSCOPE_VERSION);
  const bool windowed = options.first_step > 1 || options.last_step > 0;
  const std::string last = options.last_step > 0 ? std::to_string(options.last_step) : "";
  meta.emplace_back(
      "window",
      windowed ? std::to_string(std::max<std::int64_t>(options.first_step, 1)) + "-" + last : "");
  return meta;
}

// Without hooks the recording goes on with phases alone, and says so once.
void Session::load_hooks_for(const stepscope_options& options, Recorder::Meta& meta) {
  hooks_ = nullptr;
  const auto torch = find_loaded_torch();
  meta.emplace_back("torch_version", torch ? torch->version : "");
  if (options.record_ops == 0) return;
  if (!torch) {
    std::fprintf(stderr,
                 "stepscope: no libtorch in this process; phases are recorded, ops are not\n");
    return;
  }
  const auto hooks = load_hooks(*torch);
  if (!hooks.ok()) {
    std::fprintf(stderr, "stepscope: %s\n", hooks.status().message().c_str());
    return;
  }
  meta.emplace_back("leaf_op_overhead_ns", std::to_string((*hooks)->measure_leaf_op_overhead_ns()));
  hooks_ = *hooks;
}

void Session::apply_window() {
  const HookApi* hooks = hooks_;
  if (hooks == nullptr || !active()) return;
  const std::int64_t now = steps_.current();
  if (first_step_ <= now && now <= last_step_) {
    hooks->enable(shapes_);
  } else {
    hooks->disable();
  }
}

void Session::signal_step(StepMarker source) {
  const std::scoped_lock lock(mutex_);
  if (steps_.signal(source)) apply_window();
}

OpenPhase Session::begin_phase(PhaseKind kind, std::string_view name) {
  if (!active()) return {};
  // Before the phase begins, so that opening the window is not counted to it.
  if (kind == PhaseKind::kInput) signal_step(StepMarker::kLoader);
  ThreadRecorder* recorder = current_thread();
  return recorder == nullptr ? OpenPhase{} : recorder->begin_phase(kind, name);
}

void Session::end_phase(const OpenPhase& phase, PhaseKind ended_as) {
  if (phase.kind == PhaseKind::kNone || !active()) return;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return;
  recorder->end_phase(phase, ended_as);
  if (phase.kind == PhaseKind::kOptimizer) signal_step(StepMarker::kOptimizer);
  if (ended_as == PhaseKind::kInputEnd) {
    const std::scoped_lock lock(mutex_);
    steps_.loader_exhausted();
  }
}

void Session::step() {
  if (!active()) return;
  if (ThreadRecorder* recorder = current_thread()) recorder->mark(PhaseKind::kStep);
  signal_step(StepMarker::kUser);
}

// On the recorder's thread. Takes no lock: stop() may hold it and wait for that thread.
void Session::on_recorder_failure(const Status& status) {
  active_ = false;
  if (const HookApi* hooks = hooks_; hooks != nullptr) hooks->disable();
  std::fprintf(stderr, "stepscope: recording stopped, the program goes on: %s\n",
               status.message().c_str());
}

void Session::before_fork() {
  get().mutex_.lock();
  ring_registry().lock();
}

void Session::after_fork_in_parent() {
  ring_registry().unlock();
  get().mutex_.unlock();
}

// The recorder's thread and its store stay with the parent. The child must not even close them: its
// copy of the SQLite connection would write into the parent's file.
void Session::after_fork_in_child() {
  ring_registry().unlock();
  Session& session = get();
  session.active_ = false;
  session.hooks_ = nullptr;
  (void)session.recorder_.release();
  session.mutex_.unlock();
}

}  // namespace stepscope

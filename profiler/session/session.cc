#include "profiler/session/session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "profiler/channel/channel_format.h"
#include "profiler/channel/client.h"
#include "profiler/cupti/collector.h"
#include "profiler/process/loaded_libraries.h"
#include "profiler/ring/no_cancellation.h"
#include "profiler/ring/stack_taker.h"
#include "profiler/ring/thread_schedule.h"
#include "profiler/session/copy_text.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/process_exit.h"
#include "profiler/session/tensor_memory.h"
#include "profiler/session/window.h"

namespace stepscope {
namespace {

RecordPlan plan_of(const stepscope_options& options) {
  RecordPlan plan{};
  plan.first_step = options.first_step;
  plan.last_step = options.last_step;
  plan.phases_only = options.record_ops == 0 ? 1 : 0;
  plan.shapes = options.record_shapes != 0 ? 1 : 0;
  const bool windowed = options.first_step > 1 || options.last_step > 0;
  if (!windowed && plan.phases_only == 0) plan.budget_ppm = budget_ppm(options.budget);
  return plan;
}

// User scopes only matter in Python programs, where PyTorch opens them. Too slow for each step: a
// failing lookup reads the symbol tables of every library.
bool python_is_loaded() { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr; }

}  // namespace

// Under a wrapper, installs the fork handlers now, usually before there are threads: later, one
// thread may fork while another holds the mutex to join the recording.
Session::Session() {
  if (is_wrapped()) install_fork_handlers();
}

constinit std::atomic<Session*> Session::made_{nullptr};

// In static memory: the first call may come from where an exception would end the program.
Session& Session::make() {
  alignas(Session) static std::byte memory[sizeof(Session)];
  static auto* const session = new (memory) Session;
  made_.store(session, std::memory_order_release);
  return *session;
}

// In a process that records itself, called just before the recording begins. Not earlier, because
// the store's handlers, which come with the recorder's library, must be installed first: its lock
// is taken while ours is held, and a fork must keep that order.
void Session::install_fork_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(&Session::before_fork, &Session::after_fork_in_parent,
                   &Session::after_fork_in_child);
  });
}

Status Session::start(const stepscope_options& options) {
  if (join_wrapper()) return {};
  const auto library = load_recorder_library();
  if (!library.ok()) return library.status();
  library->install_fork_handlers();
  install_fork_handlers();
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
                                                " are not a window; steps are counted from 1");
  }
  if (!(options.budget >= 0 && options.budget <= 1)) {
    return Status::error(ErrorKind::kUsage, std::string(options.output) +
                                                ": not recorded: the budget is a share of the "
                                                "run's time, from 0 to 1");
  }
  const DelayedExit until_started;
  if (exit_has_begun()) {
    return Status::error(ErrorKind::kUsage,
                         std::string(options.output) +
                             ": not recorded: the program has begun to exit; start the recording "
                             "before main() returns");
  }
  return start_embedded(*library, options);
}

Status Session::start_embedded(const RecorderLibrary& library, const stepscope_options& options) {
  Status status;
  try {
    status = try_to_start(library, options);
  } catch (const std::bad_alloc&) {
    status = Status::error(ErrorKind::kIo, "not recorded: out of memory");
  }
  if (!status.ok()) {
    recorder_.reset();
    hooks_ = nullptr;
    torch_searched_ = false;
  }
  return status;
}

// A program may end without stopping its recording: std::exit() destroys no object on the stack.
// Registered after the recorder's library is loaded, and so called before its static destructors.
void Session::stop_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit([] {
      if (const char* error = stepscope_stop()) std::fprintf(stderr, "stepscope: %s\n", error);
    });
  });
}

Status Session::try_to_start(const RecorderLibrary& library, const stepscope_options& options) {
  if (Status status = prepare_region(options); !status.ok()) return status;
  reserve_schedule_descriptors();
  wants_ops_ = options.record_ops != 0;
  output_ = options.output;
  recorder_failed_ = false;
  find_hooks(true);
  StartedRecorder started;
  library.start({options.output, ring_registry().region(), meta_of(options),
                 [this](const Status& status) { on_recorder_failure(status); }},
                started);
  if (!started.status.ok()) return started.status;
  recorder_ = std::move(started.recorder);
  stop_at_exit();
  begin_recording(ring_registry().region());
  return {};
}

// Regions are reused by later recordings, because threads keep their rings.
Status Session::prepare_region(const stepscope_options& options) {
  Region& region = private_regions_[options.ring_bytes];
  if (!region) region = map_private_region(lay_out_region(options.ring_bytes), {});
  if (!region) {
    return Status::error(ErrorKind::kIo, std::string(options.output) +
                                             ": not recorded: no memory for the rings; set a "
                                             "smaller ring_bytes or raise the limit (ulimit -v)");
  }
  region.header->plan = plan_of(options);
  ring_registry().use(region);
  return {};
}

void Session::begin_recording(const Region& region) {
  region_ = region.header;
  region.header->cudnn_benchmark = TorchSwitch::kUnknown;
  step_ = 0;
  region.header->step = 0;  // a process that records again has the same region
  leader_ = nullptr;
  applied_switch_ = OpsSwitch::kPlan;
  applied_alive_ = true;
  heartbeat_.reset();
  current_session.fetch_add(1, std::memory_order_relaxed);
  const bool python = python_is_loaded();
  takes_stacks_ = region.header->plan.stack_period_ticks != 0 && !python;
  applied_window_.reset();
  budget_.reset();
  const double budget = region.header->plan.budget_ppm / 1e6;
  if (budget > 0) {
    budget_.emplace(budget, to_count(read_ticks()),
                    python ? OpBudget::kCostPerPythonMarkNs : OpBudget::kCostPerMarkNs);
  }
  step_began_ns_ = 0;
  ops_marked_ = false;
  active_ = true;
  apply_window();
}

Status Session::stop() {
  std::unique_ptr<EmbeddedRecorder> recorder;
  Meta meta;
  {
    const std::scoped_lock lock(mutex_);
    if (recorder_ == nullptr) return {};  // nothing is recorded, or the wrapper records
    active_ = false;
    const DelayedExit until_off;
    if (const HookApi* hooks = hooks_.exchange(nullptr); hooks != nullptr) {
      hooks->set_mode(HookMode::kOff);
    }
    torch_searched_ = false;
    StackTaker::set_period(0, 1, read_ticks());
    recorder = std::move(recorder_);
    try {
      meta = meta_at_end();
    } catch (const std::bad_alloc&) {
      count_failure();  // the store is still closed
    }
  }
  Collector::get().stop();
  return recorder->stop(meta);  // without the lock: a training thread may need it for a mark
}

Meta Session::meta_at_end() const {
  Meta meta{{"step_count", std::to_string(std::max<std::int64_t>(step_ - 1, 0))}};
  if (const char* benchmark = switch_text(region_.load()->cudnn_benchmark)) {
    meta.emplace_back("cudnn_benchmark", benchmark);
  }
  return meta;
}

Meta Session::meta_of(const stepscope_options& options) const {
  Meta meta{{"stepscope_version", STEPSCOPE_VERSION}};
  const bool windowed = options.first_step > 1 || options.last_step > 0;
  const std::string last = options.last_step > 0 ? std::to_string(options.last_step) : "";
  meta.emplace_back(
      "window",
      windowed ? std::to_string(std::max<std::int64_t>(options.first_step, 1)) + "-" + last : "");
  const RegionHeader& region = *ring_registry().region().header;
  meta.emplace_back("torch_version", region.torch_version);
  if (region.leaf_op_overhead_ns >= 0) {
    meta.emplace_back("leaf_op_overhead_ns", std::to_string(region.leaf_op_overhead_ns));
  }
  return meta;
}

// Shows the user a line. Under a wrapper, the wrapper prints it, because stderr belongs to the
// program.
void Session::tell(const char* line) {
  if (wrapper_ != Wrapper::kJoined) {
    std::fprintf(stderr, "stepscope: %s\n", line);
    return;
  }
  RegionHeader& region = *ring_registry().region().header;
  copy_text(region.notice, sizeof(region.notice), line);
}

// Without hooks, the recording continues with phases only and says so once. mutex_ is held.
void Session::find_hooks(bool may_run_ops) noexcept {
  try {
    look_for_hooks(may_run_ops);
  } catch (...) {
    hooks_ = nullptr;
    count_failure();
    tell("no op hooks: out of memory; phases are recorded, ops are not");
  }
  if (torch_searched_) {
    ring_registry().region().header->described.store(1, std::memory_order_release);
  }
}

void Session::look_for_hooks(bool may_run_ops) {
  hooks_ = nullptr;
  RegionHeader& region = *ring_registry().region().header;
  const auto torch = find_loaded_torch();
  torch_searched_ = torch.has_value();
  copy_text(region.torch_version, sizeof(region.torch_version), torch ? torch->version : "");
  if (!torch) {
    if (wants_ops_ && wrapper_ != Wrapper::kJoined) {
      tell("no libtorch in this process; phases are recorded, ops are not");
    }
    return;
  }
  python_ = python_is_loaded();
  const bool needed = wants_ops_ || python_;
  if (needed) {
    const auto hooks = load_hooks(*torch);
    if (hooks.ok()) {
      hooks_ = *hooks;
      set_new_name_function([] { Session::get().note_torch_settings(); });
    } else {
      tell(hooks.status().message().c_str());
    }
  }
  if (hooks_ != nullptr && wants_ops_ && may_run_ops) {
    region.leaf_op_overhead_ns = hooks_.load()->measure_leaf_op_overhead_ns();
  }
}

bool Session::join_wrapper() noexcept {
  const Wrapper known = wrapper_.load(std::memory_order_acquire);
  if (known != Wrapper::kUnknown) [[likely]]
    return known == Wrapper::kJoined;
  const NoCancellation here;
  if (is_wrapped()) install_fork_handlers();
  const std::scoped_lock lock(mutex_);
  if (wrapper_ == Wrapper::kUnknown) {
    wrapper_.store(join_now() ? Wrapper::kJoined : Wrapper::kAbsent, std::memory_order_release);
  }
  return wrapper_ == Wrapper::kJoined;
}

// mutex_ is held.
bool Session::join_now() {
  if (recorder_ != nullptr) return false;
  const Region region = connect_to_recorder(inherited_region_);
  if (!region) return false;
  joined_as_ = getpid();
  wants_ops_ = region.header->plan.phases_only == 0;
  reserve_schedule_descriptors();
  ring_registry().use(region);
  begin_recording(region);
  start_counting_tensor_memory(region.header->device_memory);
  return true;
}

void Session::torch_is_loaded(bool may_run_ops) noexcept {
  if (torch_searched_.load(std::memory_order_relaxed) || (!join_wrapper() && !active())) return;
  const NoCancellation here;
  const std::scoped_lock lock(mutex_);
  if (torch_searched_ || (wrapper_ != Wrapper::kJoined && recorder_ == nullptr)) return;
  const DelayedExit until_found;
  if (exit_has_begun()) return;
  find_hooks(may_run_ops);
  apply_window();
}

void Session::count_failure() noexcept {
  if (RegionHeader* region = region_.load()) region->failures.fetch_add(1);
}

void Session::mark_exit(int code) noexcept {
  RegionHeader* region = region_.load();
  if (region == nullptr || wrapper_ != Wrapper::kJoined) return;
  if (getpid() == joined_as_) region->exited.store(1 + (static_cast<std::uint32_t>(code) & 0xff));
}

// A child of a recorded process joins with its first event: without one, nothing of it is missing.
void Session::report_if_unrecorded() const noexcept try {
  if (!is_wrapped() || wrapper_ != Wrapper::kUnknown || inherited_region_ != nullptr) return;
  if (active() || loaded_library_path("libtorch_cpu").empty()) return;
  // A Python that only imports torch, as torch.compile starts some to try out an instruction set.
  if (python_is_loaded() && !uncounted_tensors()) return;
  report_unrecorded();
} catch (...) {  // no memory for the list of libraries
}

// Called on the recorder's thread. Takes no lock: start() may hold it and wait for that thread to
// end. The order makes a concurrent apply_window() leave the hooks off: either it sees the flag
// after its set_mode(), or its set_mode() came before ours.
void Session::on_recorder_failure(const Status& status) noexcept {
  recorder_failed_ = true;
  if (const HookApi* hooks = hooks_; hooks != nullptr) hooks->set_mode(HookMode::kOff);
  std::fprintf(stderr, "stepscope: recording stopped, the program continues: %s\n",
               status.message().c_str());
}

void Session::before_fork() {
  get().mutex_.lock();
  ring_registry().lock();
  Collector::get().lock();
}

void Session::after_fork_in_parent() {
  Collector::get().unlock();
  ring_registry().unlock();
  get().mutex_.unlock();
}

// The recorder's thread and its store stay with the parent. The child must not even close them: its
// copy of the SQLite connection would write into the parent's file. Under a wrapper, the child
// joins as a separate process with its first event. Until then it must write nowhere: the rings are
// memory shared with the parent.
void Session::after_fork_in_child() {
  thread_recorder = nullptr;
  Collector::get().abandon_in_child();
  ring_registry().abandon_in_child();
  Session& session = get();
  session.active_ = false;
  StackTaker::set_period(0, 1, read_ticks());
  if (session.wrapper_ == Wrapper::kJoined) session.inherited_region_ = session.region_.load();
  if (session.wrapper_ != Wrapper::kJoined) session.hooks_ = nullptr;
  session.wrapper_ = Wrapper::kUnknown;
  session.region_ = nullptr;
  session.private_regions_.clear();
  stop_counting_tensor_memory();
  session.parents_recorder_ = session.recorder_.release();
  session.mutex_.unlock();
}

}  // namespace stepscope

#include "profiler/recorder/run_recorder.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "profiler/process/process_tree.h"
#include "profiler/recorder/counter_samples.h"
#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "profiler/ring/stack_taker.h"
#include "store/counted.h"
#include "store/loss_kinds.h"

namespace stepscope {
namespace {

constexpr std::int64_t kRecorderPatienceNs = kRecorderPatienceSeconds * 1'000'000'000;

// How long to wait for workers and ranks. They usually end before the program that started them;
// CPython's fork server, which has imported torch, ends some 0.4 s after it.
constexpr std::chrono::milliseconds kLastOnes{1000};
constexpr std::int64_t kMaxRefusalNotices = 3;
constexpr int kMaxArrivals = 1024;

}  // namespace

Result<std::unique_ptr<RunRecorder>> RunRecorder::start(const std::filesystem::path& output,
                                                        const Meta& meta, const RunPlan& plan) {
  auto session =
      plan.replace_late ? StoreSession::prepare(output, meta) : StoreSession::create(output, meta);
  if (!session.ok()) return session.status();
  auto listener = Listener::open();
  if (!listener.ok()) return listener.status();
  std::unique_ptr<RunRecorder> recorder(
      new RunRecorder(*std::move(session), *std::move(listener), plan));
  StoreSession& opened = *recorder->session_;
  if (Status status = opened.set_meta(kSocketMeta, recorder->socket_path()); !status.ok()) {
    return status;
  }
  opened.set_on_failure([self = recorder.get()](const Status&) { self->stop_op_callbacks(); });
  recorder->listener_->set_control_handler(
      [self = recorder.get()](ControlCommand command) { return self->carry_out(command); });
  if (Status status = opened.flush(); !status.ok()) return status;
  return recorder;
}

RunRecorder::RunRecorder(std::unique_ptr<StoreSession> session, std::unique_ptr<Listener> listener,
                         const RunPlan& plan)
    : plan_(plan),
      layout_(lay_out_region(plan.ring_bytes)),
      session_(std::move(session)),
      listener_(std::move(listener)),
      stacks_(plan.lines_rate) {}

RunRecorder::~RunRecorder() = default;

// If memory for the list runs out, it only sleeps.
void RunRecorder::wait(std::initializer_list<int> also) const noexcept try {
  std::vector<pollfd> fds{{listener_->fd(), POLLIN, 0}};
  for (const int fd : also) fds.push_back({fd, POLLIN, 0});
  for (const WatchedProcess& process : processes_) {
    // Of a process whose end cannot be stored yet, it would stay readable.
    if (!held_ && !process.ended && process.pidfd) fds.push_back({process.pidfd.get(), POLLIN, 0});
  }
  const auto period =
      behind_ ? std::chrono::milliseconds(0) : look_period(busy_, collector_.is_running());
  poll(fds.data(), fds.size(), static_cast<int>(period.count()));
} catch (const std::bad_alloc&) {
  poll(nullptr, 0, static_cast<int>(kBusyDrainPeriod.count()));
}

void RunRecorder::tick() noexcept {
  session_->attempt([this] {
    session_->steer_clock();
    held_ = !session_->lock();
    Status status = take_in_arrivals();
    if (held_) {
      hold_events();
      return status;
    }
    search_unjoined();
    if (status.ok() && !session_->failed()) status = look();
    session_->unlock_if_unused();
    return status;
  });
  collector_.keep_off_writers(cpus_);
}

// The collector goes on emptying the rings. The heartbeat keeps the processes recording.
void RunRecorder::hold_events() {
  busy_ = false;
  behind_ = false;
  for (WatchedProcess& process : processes_) {
    if (!process.ended) process.look();
  }
  for (Waiting& waiting : waiting_) {
    waiting.arrival.region.header->heartbeat = ++waiting.heartbeat;
  }
}

void RunRecorder::lock_at_end() noexcept {
  session_->attempt([this] { return session_->lock_at_end(); });
  held_ = false;
}

// Nothing that they write is recorded any more.
void RunRecorder::stop_op_callbacks() noexcept {
  for (WatchedProcess& process : processes_) {
    if (process.region) process.region.header->heartbeat = 0;
  }
}

Status RunRecorder::look() {
  busy_ = false;
  behind_ = false;
  if (!session_->begun()) return {};  // no process has come yet
  for (WatchedProcess& process : processes_) {
    if (process.ended) continue;
    // Checked first: then everything that it wrote before its end is in the rings.
    const bool over = process.is_over();
    if (Status status = drain(process); !status.ok()) return status;
    if (!over || process.pid == program_) continue;
    // For a process that is not our child, we only know whether it exited by itself.
    const std::int64_t exited = process.region.header->exited.load();
    const Status status =
        exited > 0 ? end(process, EndKind::kExit, exited - 1) : end(process, EndKind::kSignal, 0);
    if (!status.ok()) return status;
  }
  if (Status status = store_unrecorded(); !status.ok()) return status;
  if (Status status = description_.store_source_state(store()); !status.ok()) return status;
  if (Status status = end_ops_blocks(); !status.ok()) return status;
  const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now - last_sample_ns_ >= kSamplePeriodNs) {
    last_sample_ns_ = now;
    if (Status status = sample(); !status.ok()) return status;
  }
  if (!session_->flush_is_due()) return {};
  if (Status status = description_.store_torch_settings(store(), processes_); !status.ok())
    return status;
  if (Status status = description_.store_rank_facts(store(), processes_); !status.ok())
    return status;
  return session_->flush();
}

Status RunRecorder::take_in_arrivals() {
  if (!held_) admit_all_waiting();
  RecordPlan plan = plan_.record;
  if (plan_.lines_rate > 0)
    plan.stack_period_ticks =
        static_cast<std::uint32_t>(session_->clock().ticks_in(kStackPeriodNs));
  // Those that come faster than this wait for the next tick.
  for (int i = 0; i < kMaxArrivals; ++i) {
    auto arrival =
        listener_->accept(layout_, plan, session_->clock().ticks_in(kRecorderPatienceNs));
    if (!arrival.ok()) {  // the others are still recorded
      refuse(arrival.status().message());
      continue;
    }
    if (!arrival->has_value()) return {};
    if (!(*arrival)->notice.empty()) add_notice((*arrival)->notice);
    Waiting one{std::move(**arrival)};
    held_ ? hold(one) : admit(one);
  }
  return {};
}

void RunRecorder::hold(Waiting& one) {
  session_->attempt([&] {
    one.process = describe(one.arrival);
    one.backlog = std::make_shared<RingBacklog>(one.arrival.region);
    collector_.add(one.backlog);
    waiting_.push_back(std::move(one));
    return Status();
  });
  if (session_->failed()) count_events_of(one);  // no memory
}

void RunRecorder::admit(Waiting& one) {
  if (!session_->failed()) session_->attempt([&] { return add_process(one); });
  if (session_->failed()) count_events_of(one);
}

void RunRecorder::admit_all_waiting() {
  for (; !waiting_.empty(); waiting_.pop_front()) admit(waiting_.front());
}

void RunRecorder::refuse(const std::string& line) {
  ++unrecorded_;
  // A loader may start a hundred workers.
  if (++refused_ <= kMaxRefusalNotices) add_notice(line);
}

void RunRecorder::search_unjoined() {
  if (program_ == 0) return;
  const auto has_joined = [this](pid_t pid) { return find_running(pid) != nullptr; };
  for (const pid_t pid : unjoined_.search(program_, has_joined, std::chrono::steady_clock::now())) {
    refuse("process " + std::to_string(pid) + " (" + process_of(pid).name +
           ") is not recorded: it uses libtorch, but was started without Stepscope's environment");
  }
}

// Counts the events of a process that came after the store had failed.
void RunRecorder::count_events_of(const Waiting& one) {
  const Listener::Arrival& arrival = one.arrival;
  arrival.region.header->heartbeat = 0;
  if (!session_->begun()) {  // there is no store to record what is missing
    unmap_region(arrival.region);
    return;
  }
  const auto is_it = [&](const WatchedProcess& process) {
    return process.region.header == arrival.region.header;
  };
  if (std::any_of(processes_.begin(), processes_.end(), is_it)) return;  // added before the failure
  processes_.emplace_back(arrival, ProcessId::kNone, *session_, one.backlog);
}

Status RunRecorder::add_process(Waiting& one) {
  Listener::Arrival& arrival = one.arrival;
  if (Status status = session_->begin(); !status.ok()) return status;
  // The same process again: it has replaced itself with another program (exec).
  if (WatchedProcess* before = find_running(arrival.pid)) {
    if (Status status = drain(*before); !status.ok()) return status;
    if (Status status = end(*before, EndKind::kReplaced, 0); !status.ok()) return status;
  }
  const Process process = one.backlog != nullptr ? one.process : describe(arrival);
  const auto id = store().add_process(process);
  if (!id.ok()) return id.status();
  if (Status status = description_.add(store(), process, plan_.source_folders); !status.ok())
    return status;
  arrival.region.header->ops_switch = switch_;
  processes_.emplace_back(arrival, *id, *session_, one.backlog);
  if (one.backlog == nullptr) collector_.add(processes_.back().drain.backlog());
  processes_.back().drain.set_on_stacks(
      [this, pid = arrival.pid](pid_t tid, std::vector<NativeStack>&& stacks) {
        stacks_.take(pid, tid, stacks);
      });
  stacks_.add(arrival.pid, std::move(arrival.memory), std::move(arrival.maps),
              arrival.region.header);
  return {};
}

Process RunRecorder::describe(const Listener::Arrival& arrival) const {
  Process process = process_of(arrival.pid);
  process.parent_pid = closest_recorded_above(arrival);
  process.rank = arrival.hello.rank;
  return process;
}

// A shell or a fork server, which is not recorded itself, may lie between a worker and the program
// that it works for.
std::int64_t RunRecorder::closest_recorded_above(const Listener::Arrival& arrival) const {
  constexpr int kMaxLevels = 16;
  std::int64_t pid = parent_of(arrival.pid);
  for (int level = 0; level < kMaxLevels && pid > 1 && pid != getpid(); ++level) {
    if (has_recorded(pid)) return pid;
    pid = parent_of(pid);
  }
  return arrival.hello.parent_pid;
}

Status RunRecorder::drain(WatchedProcess& process) {
  process.look();
  collect_notices(process);
  if (Status status = description_.describe(store(), process); !status.ok()) return status;
  const Status status = process.drain.drain_some();
  busy_ = busy_ || process.drain.busy();
  behind_ = behind_ || process.drain.behind();
  return status;
}

void RunRecorder::collect_notices(WatchedProcess& process) {
  for (const std::string& line : process.take_notices(layout_.ring_capacity)) add_notice(line);
  if (process.take_unrecorded()) ++unrecorded_;
}

void RunRecorder::add_notice(const std::string& line) {
  if (std::find(notices_.begin(), notices_.end(), line) == notices_.end()) notices_.push_back(line);
}

Status RunRecorder::sample() {
  const SessionTime now = session_->now();
  std::vector<ThreadWatch::Root> roots;
  for (WatchedProcess& process : processes_) {
    if (process.ended) continue;
    roots.push_back({process.pid, process.drain.process()});
    Status status = process.counters->store(store(), process.drain, now);
    if (status.ok()) status = description_.store_loaded_versions(store(), process);
    if (!status.ok()) return status;
  }
  if (roots.empty()) return {};
  // Stacks first: threads_ forgets the threads that have ended since.
  if (Status status = stacks_.store(store(), threads_, session_->clock()); !status.ok())
    return status;
  if (Status status = threads_.store(store(), roots, now); !status.ok()) return status;
  if (gpus_ == nullptr) {
    gpus_ = std::make_unique<GpuSampler>(plan_.nvml, std::chrono::nanoseconds(kSamplePeriodNs));
  }
  const Status status = store_gpu_samples(store(), gpus_->take(), session_->clock());
  return status.ok() ? store_machine_samples(store(), machine_, now) : status;
}

bool RunRecorder::has_recorded(std::int64_t pid) const {
  const auto is_it = [&](const WatchedProcess& process) { return process.pid == pid; };
  const auto waits = [&](const Waiting& one) { return one.arrival.pid == pid; };
  return std::any_of(processes_.begin(), processes_.end(), is_it) ||
         std::any_of(waiting_.begin(), waiting_.end(), waits);
}

WatchedProcess* RunRecorder::find_running(pid_t pid) {
  for (WatchedProcess& process : processes_) {
    if (process.pid == pid && !process.ended) return &process;
  }
  return nullptr;
}

Status RunRecorder::end(WatchedProcess& process, EndKind how, std::int64_t code) {
  process.ended = true;
  stacks_.has_ended(process.pid);
  const Status stored = stacks_.store(store(), threads_, session_->clock());
  stacks_.forget(process.pid);
  if (!stored.ok()) return stored;
  collect_notices(process);
  return process.store_end(*session_, how, code);
}

void RunRecorder::switch_ops(OpsSwitch to) {
  switch_ = to;
  for (WatchedProcess& process : processes_) {
    if (!process.ended) process.region.header->ops_switch = to;
  }
}

void RunRecorder::record_ops_block(std::int64_t rank) {
  for (const OpsBlocks::Process& process : running_processes()) {
    if (process.rank == rank) blocks_.begin(process, session_->now());
  }
}

std::vector<OpsBlocks::Process> RunRecorder::running_processes() {
  std::vector<OpsBlocks::Process> running;
  for (WatchedProcess& process : processes_) {
    if (process.ended) continue;
    running.push_back(
        {process.pid, process.rank, process.step, &process.region.header->ops_switch});
  }
  return running;
}

Status RunRecorder::end_ops_blocks() {
  if (blocks_.all_over()) return {};
  if (!blocks_.end_due(running_processes(), switch_, session_->now())) return {};
  return session_->set_meta(kOpsBlocksMeta, blocks_.text());
}

std::string RunRecorder::carry_out(ControlCommand command) {
  switch (command) {
    case ControlCommand::kStartOps:
      switch_ops(OpsSwitch::kOn);
      return "ops are recorded from each loop's next phase on";
    case ControlCommand::kStopOps:
      switch_ops(OpsSwitch::kOff);
      return "from each loop's next phase on, only phases are recorded";
    case ControlCommand::kFollowPlan:
      switch_ops(OpsSwitch::kPlan);
      return "ops are recorded as planned";
    case ControlCommand::kStatus:
      break;
  }
  const RunProgress now = progress();
  return "step " + std::to_string(now.step) + ", " +
         counted(now.processes, "process", "processes") + ", " + counted(now.ops, "op") + ", " +
         counted(now.phases, "phase") + ", " + std::to_string(now.lost) + " lost, ops " +
         (now.ops_enabled ? "on" : "off") +
         (failure().ok() ? "" : "; recording stopped: " + failure().message());
}

void RunRecorder::program_ended(pid_t pid, int wait_status, const std::string& command) noexcept {
  lock_at_end();
  session_->attempt([&] { return store_program_end(pid, wait_status, command); });
}

Status RunRecorder::store_program_end(pid_t pid, int wait_status, const std::string& command) {
  if (Status status = take_in_arrivals(); !status.ok() || session_->failed()) return status;
  const EndKind how = WIFSIGNALED(wait_status) ? EndKind::kSignal : EndKind::kExit;
  const std::int64_t code =
      WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  if (WatchedProcess* process = find_running(pid)) {
    if (Status status = drain(*process); !status.ok()) return status;
    return end(*process, how, code);
  }
  if (has_recorded(pid)) return {};
  if (!session_->begun()) return {};  // the earlier recording stays: nothing replaces it
  // The program never connected, because it has no libtorch itself. Its end is still recorded.
  const auto id =
      store().add_process({pid, command.substr(0, command.find(' ')), command, getpid(), -1});
  if (!id.ok()) return id.status();
  return store().add(ProcessEnd{*id, how, code, session_->now(), 0, false});
}

Status RunRecorder::finish() noexcept {
  lock_at_end();
  wait_for_last_ones();
  const bool was_held = held_;
  lock_at_end();
  if (was_held) tick();
  Meta last;
  session_->attempt([&] { return drain_survivors(); });
  session_->attempt([&] {
    return session_->failed() || !session_->begun() ? Status()
                                                    : description_.finish_source(store());
  });
  session_->attempt([&] {
    std::int64_t steps = 0;
    for (const WatchedProcess& process : processes_) steps = std::max(steps, process.step - 1);
    last = {{"step_count", std::to_string(steps)}};
    if (const std::int64_t more = refused_ - kMaxRefusalNotices; more > 0)
      add_notice(std::to_string(more) + " more of its processes are not recorded");
    if (session_->failed() || !session_->begun()) return Status();
    if (Status status = store_unrecorded(); !status.ok()) return status;
    if (Status status = store_survivors(); !status.ok()) return status;
    if (!blocks_.empty()) last.emplace_back(kOpsBlocksMeta, blocks_.text());
    if (Status status = stacks_.finish(store(), threads_, session_->clock()); !status.ok())
      return status;
    if (Status status = description_.store_rank_facts(store(), processes_); !status.ok())
      return status;
    return description_.store_torch_settings(store(), processes_);
  });
  cpus_.avoid({});  // what comes next on this thread may run anywhere, and its children too
  return session_->finish(last, session_->now());
}

Status RunRecorder::drain_survivors() {
  for (WatchedProcess& process : processes_) {
    if (process.ended) continue;
    if (Status status = process.drain.drain(); !status.ok()) return status;
  }
  return {};
}

// A process that has written nothing, such as a fork server, is not one of them.
Status RunRecorder::store_survivors() {
  std::int64_t survivors = 0;
  for (const WatchedProcess& process : processes_) {
    if (!process.ended && process.drain.totals().events() > 0) ++survivors;
  }
  if (survivors == 0) return {};
  add_notice((survivors == 1 ? "a process" : std::to_string(survivors) + " processes") +
             " of the program outlived it; what came after its end is not recorded");
  return store().add(Loss{ThreadId::kNone, kOutlivingProcess, survivors});
}

// Not where a process is refused, because the store may not exist yet.
Status RunRecorder::store_unrecorded() {
  const std::int64_t more = unrecorded_ - stored_unrecorded_;
  if (more == 0) return {};
  stored_unrecorded_ = unrecorded_;
  return store().add(Loss{ThreadId::kNone, kUnrecordedProcess, more});
}

void RunRecorder::wait_for_last_ones() noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kLastOnes;
  const auto running = [](const WatchedProcess& process) { return !process.ended; };
  tick();
  while (!session_->failed() && std::any_of(processes_.begin(), processes_.end(), running) &&
         std::chrono::steady_clock::now() < deadline) {
    wait({});
    tick();
  }
}

RunProgress RunRecorder::progress() const {
  RunProgress sum;
  sum.lost = unrecorded_ + session_->unwritten();
  sum.processes = static_cast<std::int64_t>(processes_.size());
  for (const WatchedProcess& process : processes_) {
    const DrainTotals& drained = process.drain.totals();
    sum.ops += drained.ops;
    sum.phases += drained.phases;
    sum.lost += drained.lost;
    sum.step = std::max(sum.step, process.step);
    if (process.step == 0) continue;
    sum.waiting_ns += to_ns(drained.input);
    sum.looping_ns += process.last_step_ns - process.first_step_ns;
    if (process.ended) continue;
    const RegionHeader& region = *process.region.header;
    sum.ops_enabled = sum.ops_enabled || region.ops_enabled != 0;
    if (region.cost_ppm.load() < sum.cost * 1e6) continue;
    sum.cost = region.cost_ppm.load() / 1e6;
    sum.op_step_share = region.op_steps_ppm.load() / 1e6;
  }
  return sum;
}

std::vector<std::string> RunRecorder::take_notices() noexcept {
  return std::exchange(notices_, {});
}

}  // namespace stepscope

#include "profiler/recorder/run_recorder.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "profiler/recorder/memory_samples.h"
#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "store/counters.h"

namespace stepscope {
namespace {

constexpr std::int64_t kSamplePeriodNs = 100'000'000;
constexpr std::int64_t kRecorderPatienceNs = kRecorderPatienceSeconds * 1'000'000'000;

// Workers and ranks end a moment after the program that started them, as a rule before it.
constexpr std::chrono::milliseconds kLastOnes{200};

// A handle that becomes readable when the process ends, whatever it does with its descriptors.
OwnedFd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

bool has_ended(const OwnedFd& pidfd, pid_t pid) {
  if (!pidfd) return kill(pid, 0) != 0 && errno == ESRCH;  // before Linux 5.3
  pollfd poll_one{pidfd.get(), POLLIN, 0};
  return poll(&poll_one, 1, 0) == 1;
}

// Its text may be anything: the program writes there.
std::string text_in(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

}  // namespace

// One process that has come.
struct RunRecorder::Watched {
  // If this throws, nothing has changed.
  Watched(const Listener::Arrival& arrival, ProcessId process, StoreSession& session)
      : pid(arrival.pid),
        id(process),
        pidfd(open_pidfd(arrival.pid)),
        region(arrival.region),
        sampler(std::in_place, arrival.pid),
        oom(arrival.pid),
        oom_kills_before(oom.read()),
        drain(session.open_drain(region, process)) {}
  ~Watched() { unmap(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // It has ended, and all that it left was drained: thousands may come and go in a recording, and
  // each would keep its files, and the memory of its rings.
  void release() {
    unmap();
    pidfd = OwnedFd();
    sampler.reset();
  }
  void unmap() {
    drain.close();
    unmap_region(region);
    region = {};
  }

  pid_t pid;
  ProcessId id;
  OwnedFd pidfd;
  Region region;  // none: released
  std::optional<ProcessSampler> sampler;
  MemorySampler memory;
  OomCounter oom;
  std::int64_t oom_kills_before;
  ProcessDrain& drain;             // the session's; closed once released
  std::int64_t first_step_ns = 0;  // CLOCK_MONOTONIC when a step was first seen; 0: none yet
  std::int64_t last_seen_ns = 0;
  std::uint64_t looks = 1;  // at its rings; the listener counted the first
  std::int64_t step = 0;
  TorchSwitch cudnn_benchmark = TorchSwitch::kUnknown;
  bool described = false;
  bool told = false;  // how many rings it has
  bool told_of_device = false;
  bool ended = false;
};

Result<std::unique_ptr<RunRecorder>> RunRecorder::start(const std::filesystem::path& output,
                                                        const Meta& meta, const RunPlan& plan) {
  auto session = StoreSession::create(output, meta);
  if (!session.ok()) return session.status();
  auto listener = Listener::open();
  if (!listener.ok()) return listener.status();
  std::unique_ptr<RunRecorder> recorder(
      new RunRecorder(*std::move(session), *std::move(listener), plan));
  StoreSession& opened = *recorder->session_;
  if (Status status = recorder->store().set_meta(kSocketMeta, recorder->socket_path());
      !status.ok()) {
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
      listener_(std::move(listener)) {}

RunRecorder::~RunRecorder() = default;

// Without memory for the list it only sleeps.
void RunRecorder::wait(int also) const noexcept try {
  std::vector<pollfd> fds{{listener_->fd(), POLLIN, 0}, {also, POLLIN, 0}};
  for (const Watched& process : processes_) {
    if (!process.ended && process.pidfd) fds.push_back({process.pidfd.get(), POLLIN, 0});
  }
  const auto period = busy_ ? kBusyDrainPeriod : kDrainPeriod;
  poll(fds.data(), fds.size(), static_cast<int>(period.count()));
} catch (const std::bad_alloc&) {
  poll(nullptr, 0, static_cast<int>(kBusyDrainPeriod.count()));
}

void RunRecorder::tick() noexcept {
  session_->attempt([this] {
    session_->steer_clock();
    Status status = take_in_arrivals();
    return status.ok() && !session_->failed() ? look() : status;
  });
}

// What they write is for nothing now.
void RunRecorder::stop_op_callbacks() noexcept {
  for (Watched& process : processes_) {
    if (process.region) process.region.header->heartbeat = 0;
  }
}

Status RunRecorder::look() {
  busy_ = false;
  for (Watched& process : processes_) {
    if (process.ended) continue;
    // Asked first: what it wrote before it ended is then in the rings.
    const bool over = has_ended(process.pidfd, process.pid);
    if (Status status = drain(process); !status.ok()) return status;
    if (!over || process.pid == program_) continue;
    // Of a process that is not our child only this is known: whether it asked for its end.
    const std::int64_t exited = process.region.header->exited.load();
    const Status status =
        exited > 0 ? end(process, EndKind::kExit, exited - 1) : end(process, EndKind::kSignal, 0);
    if (!status.ok()) return status;
  }
  const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now - last_sample_ns_ >= kSamplePeriodNs) {
    last_sample_ns_ = now;
    if (Status status = sample(); !status.ok()) return status;
  }
  if (!session_->flush_is_due()) return {};
  if (Status status = store_torch_settings(); !status.ok()) return status;
  return session_->flush();
}

Status RunRecorder::take_in_arrivals() {
  while (true) {
    const auto arrival =
        listener_->accept(layout_, plan_.record, session_->clock().ticks_in(kRecorderPatienceNs));
    if (!arrival.ok()) {  // the others are recorded all the same
      add_notice(arrival.status().message());
      continue;
    }
    if (!arrival->has_value()) return {};
    if (!(*arrival)->notice.empty()) add_notice((*arrival)->notice);
    if (!session_->failed()) session_->attempt([&] { return add_process(**arrival); });
    if (session_->failed()) count_events_of(**arrival);
  }
}

// Of a process that came when nothing can be stored any more.
void RunRecorder::count_events_of(const Listener::Arrival& arrival) {
  arrival.region.header->heartbeat = 0;
  const auto is_it = [&](const Watched& process) {
    return process.region.header == arrival.region.header;
  };
  if (std::any_of(processes_.begin(), processes_.end(), is_it)) return;  // added before it failed
  processes_.emplace_back(arrival, ProcessId::kNone, *session_);
}

Status RunRecorder::add_process(const Listener::Arrival& arrival) {
  // The same process again: it has become another program.
  if (Watched* before = find_running(arrival.pid)) {
    if (Status status = drain(*before); !status.ok()) return status;
    if (Status status = end(*before, EndKind::kReplaced, 0); !status.ok()) return status;
  }
  Process process = process_of(arrival.pid);
  process.parent_pid = arrival.hello.parent_pid;
  process.rank = arrival.hello.rank;
  const auto id = store().add_process(process);
  if (!id.ok()) return id.status();
  arrival.region.header->ops_switch = switch_;
  processes_.emplace_back(arrival, *id, *session_);
  return {};
}

Status RunRecorder::drain(Watched& process) {
  RegionHeader& region = *process.region.header;
  region.heartbeat.store(++process.looks, std::memory_order_relaxed);
  tell_of_limits(process);
  take_device_notice(process);
  if (!process.described) {
    if (Status status = describe(process); !status.ok()) return status;
  }
  process.step = region.step.load(std::memory_order_relaxed);
  process.cudnn_benchmark = region.cudnn_benchmark.load(std::memory_order_relaxed);
  process.last_seen_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (process.step > 0 && process.first_step_ns == 0) process.first_step_ns = process.last_seen_ns;
  const Status status = process.drain.drain();
  busy_ = busy_ || process.drain.busy();
  return status;
}

void RunRecorder::add_notice(const std::string& line) {
  if (std::find(notices_.begin(), notices_.end(), line) == notices_.end()) notices_.push_back(line);
}

// A program whose addresses are limited maps what rings it can.
void RunRecorder::tell_of_limits(Watched& process) {
  const std::uint32_t rings = process.region.header->mapped_rings.load(std::memory_order_relaxed);
  if (process.told || (rings == 0 && !process.ended)) return;
  process.told = true;
  if (rings == layout_.ring_capacity) return;
  const std::string name = "process " + std::to_string(process.pid) + ": ";
  if (rings == 0) {
    add_notice(name + "it could not map the rings, and is not recorded");
    return;
  }
  const std::string limited = name + "its address space is limited (ulimit -v); ";
  add_notice(rings == kNoRingsMapped
                 ? limited + "no rings fit, and it is not recorded"
                 : limited + std::to_string(rings) + " of its threads at a time are recorded");
}

void RunRecorder::take_device_notice(Watched& process) {
  const DeviceArea& device = *device_area(process.region);
  if (process.told_of_device || device.has_notice.load(std::memory_order_acquire) == 0) return;
  process.told_of_device = true;
  add_notice(text_in(device.notice, sizeof(device.notice)));
}

// What the process found out about itself; the first one with a libtorch speaks for the run.
Status RunRecorder::describe(Watched& process) {
  const RegionHeader& region = *process.region.header;
  if (region.described.load(std::memory_order_acquire) == 0) return {};
  process.described = true;
  const std::string notice = text_in(region.notice, sizeof(region.notice));
  if (!notice.empty()) add_notice(notice);
  if (described_ || region.torch_version[0] == '\0') return {};
  described_ = true;
  if (Status status = store().set_meta("torch_version",
                                       text_in(region.torch_version, sizeof(region.torch_version)));
      !status.ok()) {
    return status;
  }
  if (region.leaf_op_overhead_ns < 0) return {};
  return store().set_meta("leaf_op_overhead_ns", std::to_string(region.leaf_op_overhead_ns));
}

// Of the processes that have a loop, for one that only starts others leaves the setting as it was;
// of all where none has. "": nobody said.
std::string RunRecorder::cudnn_benchmark() const {
  std::string said;
  bool by_loops = false;
  for (const Watched& process : processes_) {
    const char* text = switch_text(process.cudnn_benchmark);
    const bool loops = process.step > 0;
    if (text == nullptr || (by_loops && !loops)) continue;
    const bool first = said.empty() || (loops && !by_loops);
    said = first || said == text ? text : "mixed";
    by_loops = loops;
  }
  return said;
}

Status RunRecorder::store_torch_settings() {
  const std::string benchmark = cudnn_benchmark();
  if (benchmark == stored_benchmark_) return {};
  stored_benchmark_ = benchmark;
  return store().set_meta("cudnn_benchmark", benchmark);
}

Status RunRecorder::sample() {
  const SessionTime now = session_->now();
  bool any = false;
  for (Watched& process : processes_) {
    if (process.ended) continue;
    any = true;
    if (Status status = store_readings(process.id, process.sampler->read(), now); !status.ok())
      return status;
    if (Status status = store_memory(process, now); !status.ok()) return status;
  }
  if (!any) return {};
  if (gpus_ == nullptr)
    gpus_ = std::make_unique<GpuSampler>(plan_.nvml, std::chrono::nanoseconds(kSamplePeriodNs));
  if (Status status = store_gpu_samples(); !status.ok()) return status;
  return store_readings(ProcessId::kNone, machine_.read(), now);
}

Status RunRecorder::store_memory(Watched& process, SessionTime at) {
  const std::vector<Reading> tensors = process.memory.of_tensors(process.drain.tensor_memory());
  if (Status status = store_readings(process.id, tensors, at); !status.ok()) return status;
  for (std::size_t i = 0; i < kMostDevices; ++i) {
    const std::vector<Reading> device =
        process.memory.of_device(process.region.header->device_memory[i], i);
    const auto gpu = static_cast<std::int64_t>(i);
    if (Status status = store_readings(process.id, device, at, gpu); !status.ok()) return status;
  }
  return {};
}

Status RunRecorder::store_gpu_samples() {
  std::vector<Sample> samples;
  for (const GpuSample& gpu : gpus_->take()) {
    const auto add = [&](const char* name, const std::optional<std::int64_t>& value) {
      if (!value) return;
      samples.push_back({ProcessId::kNone, store().intern(name),
                         session_->clock().to_session(gpu.at), *value, std::int64_t{gpu.gpu}});
    };
    const GpuReading& reading = gpu.reading;
    add(counter::kGpuUtilization, reading.utilization_percent);
    add(counter::kGpuMemoryUtilization, reading.memory_utilization_percent);
    add(counter::kGpuMemoryUsed, reading.memory_used_bytes);
    add(counter::kGpuPower, reading.power_milliwatts);
    add(counter::kGpuSmClock, reading.sm_clock_mhz);
    add(counter::kGpuMemoryClock, reading.memory_clock_mhz);
    add(counter::kGpuTemperature, reading.temperature_celsius);
  }
  return samples.empty() ? Status() : store().add_samples(samples);
}

Status RunRecorder::store_readings(ProcessId process, const std::vector<Reading>& readings,
                                   SessionTime at, std::int64_t gpu) {
  std::vector<Sample> samples;
  samples.reserve(readings.size());
  for (const auto& [name, value] : readings) {
    samples.push_back({process, store().intern(name), at, value, gpu});
  }
  return samples.empty() ? Status() : store().add_samples(samples);
}

RunRecorder::Watched* RunRecorder::find_running(pid_t pid) {
  for (Watched& process : processes_) {
    if (process.pid == pid && !process.ended) return &process;
  }
  return nullptr;
}

Status RunRecorder::end(Watched& process, EndKind how, std::int64_t code) {
  process.ended = true;
  tell_of_limits(process);
  // Also after an exit: not every one comes to the handler that hands the last buffers over.
  if (Status status = process.drain.drain_unfinished(); !status.ok()) return status;
  const bool out_of_memory = how == EndKind::kSignal && (code == SIGKILL || code == 0) &&
                             process.oom_kills_before >= 0 &&
                             process.oom.read() > process.oom_kills_before;
  if (how == EndKind::kSignal) {
    const std::vector<UnfinishedOp> open = process.drain.open_ops();
    if (Status status = open.empty() ? Status() : store().add_unfinished_ops(open); !status.ok()) {
      return status;
    }
  }
  const Status status = store().add_process_end(
      {process.id, how, code, session_->now(), process.step, out_of_memory});
  if (status.ok()) process.release();
  return status;
}

void RunRecorder::switch_ops(OpsSwitch to) {
  switch_ = to;
  for (Watched& process : processes_) {
    if (!process.ended) process.region.header->ops_switch = to;
  }
}

std::string RunRecorder::carry_out(ControlCommand command) {
  switch (command) {
    case ControlCommand::kStartOps:
      switch_ops(OpsSwitch::kOn);
      return "ops are recorded from the next phase of each loop on";
    case ControlCommand::kStopOps:
      switch_ops(OpsSwitch::kOff);
      return "ops are recorded no more from the next phase of each loop on; phases are";
    case ControlCommand::kFollowPlan:
      switch_ops(OpsSwitch::kPlan);
      return "ops are recorded as planned";
    case ControlCommand::kStatus:
      break;
  }
  const RunProgress now = progress();
  return "step " + std::to_string(now.step) + ", " + std::to_string(now.processes) +
         " processes, " + std::to_string(now.ops) + " ops, " + std::to_string(now.phases) +
         " phases, " + std::to_string(now.lost) + " lost, ops " + (now.ops_enabled ? "on" : "off");
}

void RunRecorder::program_ended(pid_t pid, int wait_status, const std::string& command) noexcept {
  session_->attempt([&] { return store_program_end(pid, wait_status, command); });
}

Status RunRecorder::store_program_end(pid_t pid, int wait_status, const std::string& command) {
  if (Status status = take_in_arrivals(); !status.ok() || session_->failed()) return status;
  const EndKind how = WIFSIGNALED(wait_status) ? EndKind::kSignal : EndKind::kExit;
  const std::int64_t code =
      WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  if (Watched* process = find_running(pid)) {
    if (Status status = drain(*process); !status.ok()) return status;
    return end(*process, how, code);
  }
  const auto already = [&](const Watched& process) { return process.pid == pid; };
  if (std::any_of(processes_.begin(), processes_.end(), already)) return {};
  // It never came: no libtorch of its own. How it ended is told all the same.
  const auto id =
      store().add_process({pid, command.substr(0, command.find(' ')), command, getpid(), -1});
  if (!id.ok()) return id.status();
  return store().add_process_end({*id, how, code, session_->now(), 0, false});
}

Status RunRecorder::finish() noexcept {
  wait_for_last_ones();
  Meta last;
  session_->attempt([&] {
    std::int64_t steps = 0;
    for (const Watched& process : processes_) steps = std::max(steps, process.step - 1);
    last = {{"step_count", std::to_string(steps)}};
    return session_->failed() ? Status() : store_torch_settings();
  });
  return session_->finish(last, session_->now());
}

void RunRecorder::wait_for_last_ones() noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kLastOnes;
  const auto running = [](const Watched& process) { return !process.ended; };
  tick();
  while (!session_->failed() && std::any_of(processes_.begin(), processes_.end(), running) &&
         std::chrono::steady_clock::now() < deadline) {
    wait(-1);
    tick();
  }
}

RunProgress RunRecorder::progress() const {
  RunProgress sum;
  sum.processes = static_cast<std::int64_t>(processes_.size());
  for (const Watched& process : processes_) {
    const DrainTotals& drained = process.drain.totals();
    sum.ops += drained.ops;
    sum.phases += drained.phases;
    sum.lost += drained.lost;
    sum.step = std::max(sum.step, process.step);
    if (process.step == 0) continue;
    sum.waiting_ns += to_ns(drained.input);
    sum.looping_ns += process.last_seen_ns - process.first_step_ns;
    sum.ops_enabled =
        sum.ops_enabled || (!process.ended && process.region.header->ops_enabled != 0);
  }
  return sum;
}

std::vector<std::string> RunRecorder::take_notices() noexcept {
  return std::exchange(notices_, {});
}

}  // namespace stepscope

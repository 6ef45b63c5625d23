#include "tests/store/testing/synthetic_run.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "store/counters.h"

namespace stepscope::testing {
namespace {

constexpr std::uint32_t kLoopTorchId = 1;
constexpr std::uint32_t kAutogradTorchId = 2;
constexpr StringId kTensorKernel{1};  // the first string of a run with a device

// What the ops of one phase look like.
struct OpKind {
  ThreadId thread;
  PhaseKind phase;
  OpScope scope;
  StringId outer;
  StringId inner;
};

class Recorder {
 public:
  Recorder(const SyntheticRun& run, TraceWriter& writer) : run_(run), writer_(writer) {}

  Status record() {
    if (Status status = describe(); !status.ok()) return status;
    for (int i = 0; i < run_.steps; ++i) add_step(i);
    if (run_.epoch_end) {
      add_phase(PhaseKind::kInputEnd, loader_, run_.step_start(run_.steps), Duration(2'000));
    }
    if (Status status = writer_.add(ops_); !status.ok()) return status;
    if (Status status = writer_.add(phases_); !status.ok()) return status;
    if (Status status = writer_.add(samples_); !status.ok()) return status;
    if (Status status = add_schedule(); !status.ok()) return status;
    if (Status status = add_device_work(); !status.ok()) return status;
    if (Status status = add_end(); !status.ok()) return status;
    if (run_.lost_ops == 0) return {};
    return writer_.add(Loss{kLoopThread, "op", run_.lost_ops});
  }

 private:
  Status add_end() {
    if (run_.killed_by == 0) return {};
    const SessionTime end = run_.step_start(run_.steps);
    const UnfinishedOp open[] = {
        {kLoopThread, linear_, end - Duration(20'000), PhaseKind::kForward, 0},
        {kLoopThread, addmm_, end - Duration(10'000), PhaseKind::kForward, 1}};
    if (Status status = writer_.add(open); !status.ok()) return status;
    return writer_.add(
        ProcessEnd{ProcessId{1}, EndKind::kSignal, run_.killed_by, end, run_.steps + 1, false});
  }

  Status add_device_work() {
    if (!run_.device) return {};
    Device device{ProcessId{1}, 0, "NVIDIA A100-SXM4-40GB", 42'000'000'000, 8, 0, 108};
    const Result<DeviceId> id = writer_.add_device(device);
    if (!id.ok()) return id.status();
    const Result<StreamId> stream = writer_.add_stream({*id, 1, 7});
    if (!stream.ok()) return stream.status();
    for (int i = 0; i < run_.steps; ++i) add_device_step(i, *stream);
    if (Status status = writer_.add(calls_); !status.ok()) return status;
    if (Status status = writer_.add(kernels_); !status.ok()) return status;
    return writer_.add(copies_);
  }

  void add_device_step(int index, StreamId stream) {
    const SessionTime forward = run_.step_start(index) + run_.input_of(index);
    const SessionTime backward = forward + run_.forward;
    const auto call = [&](ThreadId thread, const char* name, SessionTime at) {
      const auto number = static_cast<std::uint32_t>(calls_.size() + 1);
      calls_.push_back({thread, writer_.intern(name), at, Duration(5'000),
                        correlation_of(ProcessId{1}, number)});
      return calls_.back().correlation;
    };
    const auto kernel = [&](const char* name, SessionTime at, Duration dur,
                            std::int64_t correlation) {
      Kernel run{{stream, at, dur, correlation}, writer_.intern(name), {98, 1, 1}, {128, 1, 1}};
      run.registers = 37;
      run.dynamic_shared_bytes = 16'384;
      kernels_.push_back(run);
    };
    kernel("ampere_s16816gemm_fp16", forward + Duration(60'000), Duration(20'000),
           call(kLoopThread, "cudaLaunchKernel", forward + Duration(50'000)));
    copies_.push_back({{stream, forward + Duration(70'000), Duration(20'000),
                        call(kLoopThread, "cudaMemcpyAsync", forward + Duration(10'000))},
                       CopyKind::kHostToDevice,
                       MemoryKind::kPinned,
                       MemoryKind::kDevice,
                       1'000'000});
    kernel("ampere_sgemm_128x64_nt", backward + Duration(60'000), Duration(30'000),
           call(kAutogradThread, "cudaLaunchKernel", backward + Duration(50'000)));
  }

  // The loop thread lacked a core for a tenth of each step, and a thread of a worker for as long as
  // it ran.
  Status add_schedule() {
    if (!run_.samples) return {};
    const auto loop = writer_.add_watched_thread({ProcessId{1}, 4711, 4711, "train"});
    const auto worker = writer_.add_watched_thread({ProcessId{1}, 4720, 4720, "worker"});
    if (!loop.ok() || !worker.ok()) return loop.ok() ? worker.status() : loop.status();
    for (int i = 0; i < run_.steps; ++i) {
      const Duration dur = run_.step_dur(i);
      const ThreadStretch stretch{kLoopThread, run_.step_start(i), dur, dur * 9 / 10, dur / 10};
      if (Status status = writer_.add(stretch); !status.ok()) return status;
      const ThreadReading readings[] = {
          {*loop, run_.step_start(i), i * (dur * 9 / 10), i * (dur / 10), 2},
          {*worker, run_.step_start(i), i * (dur / 2), i * (dur / 2), 2}};
      if (Status status = writer_.add(readings); !status.ok()) return status;
    }
    return add_stacks(*loop, *worker);
  }

  // In each step the loop is looked at in its wait, and the worker that makes the batch.
  Status add_stacks(WatchedThreadId loop, WatchedThreadId worker) {
    const StringId file = writer_.intern("/src/train.py"), none = StringId::kNone;
    const StackFrame frames[] = {{FrameId::kNone, writer_.intern("main"), file, 12},
                                 {FrameId{1}, writer_.intern("decode"), file, 41}};
    if (Status status = writer_.add(frames); !status.ok()) return status;
    for (int i = 0; i < run_.steps; ++i) {
      const StackSample samples[] = {
          {loop, run_.step_start(i), FrameId{1}, false, writer_.intern("poll")},
          {worker, run_.step_start(i), FrameId{2}, true, none}};
      if (Status status = writer_.add(samples); !status.ok()) return status;
      const NativeSample library{loop, run_.step_start(i),
                                 writer_.intern("/usr/lib/libjpeg.so.62")};
      if (Status status = writer_.add(library); !status.ok()) return status;
    }
    return {};
  }

  void add_samples(int index) {
    const SessionTime at = run_.step_start(index);
    const auto add = [&](ProcessId process, const char* counter, std::int64_t value) {
      samples_.push_back({process, writer_.intern(counter), at, value});
    };
    add(ProcessId{1}, counter::kRss, 1'000'000'000 + index * std::int64_t{12'000'000});
    add(ProcessId{1}, counter::kReadBytes, index * std::int64_t{5'000'000});
    add(ProcessId::kNone, counter::kMemoryAvailable, 8'000'000'000);
  }

  Status describe() {
    const Result<ProcessId> process =
        writer_.add_process({4242, "train", "./train --batch 128", 4200, run_.rank});
    if (!process.ok()) return process.status();
    const Result<ThreadId> loop = writer_.add_thread({*process, 4242, kLoopTorchId, "train"});
    if (!loop.ok()) return loop.status();
    const Result<ThreadId> autograd =
        writer_.add_thread({*process, 4243, kAutogradTorchId, "autograd"});
    if (!autograd.ok()) return autograd.status();
    if (run_.device) writer_.intern("ampere_s16816gemm_fp16");  // kTensorKernel
    loader_ = writer_.intern("train loader");
    linear_ = writer_.intern("aten::linear");
    addmm_ = writer_.intern("aten::addmm");
    node_ = writer_.intern("autograd::engine::evaluate_function: AddmmBackward0");
    mm_ = writer_.intern("aten::mm");
    foreach_ = writer_.intern("aten::_foreach_add_");
    add_ = writer_.intern("aten::add_");
    if (run_.shapes) shapes_ = writer_.intern("[[128,784],[784,128]]");
    return set_meta();
  }

  Status set_meta() {
    const std::string end = std::to_string(to_ns(run_.step_start(run_.steps)));
    const std::pair<const char*, std::string> entries[] = {
        {"torch_version", "2.13.0"},
        {"host", "testhost"},
        {"command", "./train --batch 128"},
        {"cpu_count", "2"},
        {"cpu_model", "Synthetic CPU"},
        {"kernel", "Linux 6.1.0"},
        {"wall_start_unix_ns", "1700000000000000000"},
        {"monotonic_start_ns", "5000000000"},
        {"leaf_op_overhead_ns", "1000"},
        {"step_count", std::to_string(run_.steps)},
        {"window", ""},
        {"end_ns", end}};
    for (const auto& [key, value] : entries) {
      if (Status status = writer_.set_meta(key, value); !status.ok()) return status;
    }
    return {};
  }

  void add_step(int index) {
    if (run_.samples) add_samples(index);
    SessionTime at = run_.step_start(index);
    add_phase(PhaseKind::kInput, loader_, at, run_.input_of(index));
    at += run_.input_of(index);
    const std::int64_t first_sequence = sequence_;
    add_part({kLoopThread, PhaseKind::kForward, OpScope::kFunction, linear_, addmm_}, at,
             run_.forward);
    at += run_.forward;
    backward_sequence_ = first_sequence + run_.ops_per_phase - 1;
    add_part({kAutogradThread, PhaseKind::kBackward, OpScope::kBackwardFunction, node_, mm_}, at,
             run_.backward);
    at += run_.backward;
    add_part({kLoopThread, PhaseKind::kOptimizer, OpScope::kFunction, foreach_, add_}, at,
             run_.optimizer);
    at += run_.optimizer + run_.host;
    if (run_.step_marks) {
      phases_.push_back({kLoopThread, PhaseKind::kStep, StringId::kNone, at, Duration(0), {}});
    }
  }

  void add_part(const OpKind& kind, SessionTime start, Duration dur) {
    add_phase(kind.phase, StringId::kNone, start, dur);
    if (dur == Duration(0)) return;
    const Duration each = dur / run_.ops_per_phase;
    for (int i = 0; i < run_.ops_per_phase; ++i) add_pair(kind, start + i * each, each);
  }

  // The child ends first, and is recorded first.
  void add_pair(const OpKind& kind, SessionTime start, Duration dur) {
    Op child;
    child.thread = kind.thread;
    child.name = kind.inner;
    child.start = start + dur / 4;
    child.dur = child.self = dur / 2;
    child.phase = kind.phase;
    child.depth = 1;
    Op outer = child;
    outer.name = kind.outer;
    outer.start = start;
    outer.dur = dur;
    outer.self = dur - child.dur;
    outer.scope = kind.scope;
    outer.depth = 0;
    if (kind.phase == PhaseKind::kForward) {
      outer.sequence = sequence_++;
      outer.shapes = shapes_;
    } else if (kind.phase == PhaseKind::kBackward) {
      outer.sequence = backward_sequence_--;
      outer.forward_thread = kLoopTorchId;
    }
    ops_.push_back(child);
    ops_.push_back(outer);
  }

  void add_phase(PhaseKind kind, StringId name, SessionTime start, Duration dur) {
    if (dur == Duration(0)) return;
    const bool waits = kind == PhaseKind::kInput || kind == PhaseKind::kInputEnd;
    const double busy = waits ? run_.input_busy : kind == PhaseKind::kBackward ? 0.0 : 1.0;
    const Duration cpu(static_cast<std::int64_t>(static_cast<double>(to_ns(dur)) * busy));
    phases_.push_back({kLoopThread, kind, name, start, dur, cpu});
  }

  const SyntheticRun& run_;
  TraceWriter& writer_;
  StringId loader_{}, linear_{}, addmm_{}, node_{}, mm_{}, foreach_{}, add_{}, shapes_{};
  std::int64_t sequence_ = 100;
  std::int64_t backward_sequence_ = 0;
  std::vector<Op> ops_;
  std::vector<Phase> phases_;
  std::vector<Sample> samples_;
  std::vector<ApiCall> calls_;
  std::vector<Kernel> kernels_;
  std::vector<Copy> copies_;
};

[[noreturn]] void give_up(const Status& status) {
  std::fprintf(stderr, "a test's store: %s\n", status.message().c_str());
  std::abort();
}

void must(const Status& status) {
  if (!status.ok()) give_up(status);
}

double share_of_input(const SyntheticRun& run) {
  return static_cast<double>(to_ns(run.input)) / static_cast<double>(to_ns(run.step_dur()));
}

Step true_step(const SyntheticRun& run, int index) {
  Step step;
  step.number = index + 1;
  step.thread = kLoopThread;
  step.start = run.step_start(index);
  step.dur = run.step_dur(index);
  step.marker = run.step_marks ? StepMarker::kUser : StepMarker::kLoader;
  step.ops_recorded = true;
  step.steady = index > 0;
  step.times = {{Category::kInput, PhaseKind::kInput, "", run.input_of(index), {}},
                {Category::kCompute, PhaseKind::kForward, "", run.forward, {}},
                {Category::kCompute, PhaseKind::kBackward, "", run.backward, {}},
                {Category::kCompute, PhaseKind::kOptimizer, "", run.optimizer, {}},
                {Category::kHost, PhaseKind::kNone, "", run.host, {}}};
  const bool waits = share_of_input(run) >= 0.05;
  step.kinds = {{waits ? "input-bound" : "compute-bound", step.steady ? 1 : 0, DeviceId::kNone}};
  return step;
}

// Ops are recorded child before parent, four pairs a phase: the first addmm of a step is its op 1,
// the linear around it 2, the last linear 8, the mm of the first node 9 and the node 10.
DeviceFacts true_device_facts(const SyntheticRun& run) {
  DeviceFacts facts;
  if (!run.device) return facts;
  for (int i = 0; i < run.steps; ++i) {
    const std::int64_t op = i * run.op_count() / run.steps, call = 3 * std::int64_t{i};
    const auto correlation = [](std::int64_t number) {
      return correlation_of(ProcessId{1}, static_cast<std::uint32_t>(number));
    };
    facts.launches.push_back(
        {correlation(call + 1), call + 1, PhaseKind::kForward, op + 1, 0, 0, 1});
    facts.launches.push_back(
        {correlation(call + 2), call + 2, PhaseKind::kForward, op + 2, 0, 0, 1});
    facts.launches.push_back(
        {correlation(call + 3), call + 3, PhaseKind::kBackward, op + 9, op + 10, op + 8, 1});
    facts.overlaps.push_back({i + 1, Duration(10'000)});
  }
  facts.kernel_names = {{kTensorKernel, true}};
  facts.occupancies = {{DeviceId{1}, 128, 37, 16'384, 9, 36, 36.0 / 64, "shared memory"}};
  facts.streams = {{StreamId{1}, run.steps * Duration(60'000),
                    run.step_start(run.steps - 1) + run.input_of(run.steps - 1) + run.forward +
                        Duration(90'000) - run.step_start(0) - run.input_of(0) - Duration(60'000)}};
  return facts;
}

}  // namespace

std::int64_t SyntheticRun::op_count() const {
  int phases = 0;
  for (const Duration part : {forward, backward, optimizer}) phases += part != Duration(0) ? 1 : 0;
  return std::int64_t{2} * steps * phases * ops_per_phase;
}

Status record(const SyntheticRun& run, TraceWriter& writer) {
  return Recorder(run, writer).record();
}

Analysis true_analysis(const SyntheticRun& run) {
  Analysis analysis;
  for (int i = 0; i < run.steps; ++i) analysis.steps.push_back(true_step(run, i));
  const double share = share_of_input(run);
  Verdict verdict;
  verdict.thread = kLoopThread;
  verdict.kind = share >= 0.05 ? "input-bound" : "compute-bound";
  verdict.degree = share >= 0.2 ? "highly" : share >= 0.05 ? "moderately" : "";
  verdict.share = verdict.ci_low = verdict.ci_high = share >= 0.05 ? share : 1 - share;
  verdict.confidence = run.lost_ops == 0 ? "high" : "low";
  verdict.sentence = "made by a test";
  verdict.steps = run.steps - 1;
  verdict.evidence = {{"waits for input", share, "ratio", "SELECT * FROM input_stats"}};
  verdict.advice = {
      {"input-prefetch",
       "prefetch the input",
       "it is decoded on the loop thread",
       to_ns(run.step_dur() - run.input),
       to_ns(run.input),
       {"the wait is busy", run.input_busy, "ratio", "SELECT avg(busy_share) FROM input_stats"}}};
  verdict.populations = {
      {1, verdict.steps, to_ns(run.step_dur()), 1, "all", verdict.kind, verdict.degree, 0, 0}};
  analysis.verdicts.push_back(verdict);
  analysis.device_facts = true_device_facts(run);
  return analysis;
}

TempDir::TempDir() {
  std::string name = std::filesystem::temp_directory_path() / "stepscope-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void make_store(const std::filesystem::path& path, const SyntheticRun& run, bool analysed) {
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::create(path);
  must(writer.status());
  must(record(run, **writer));
  if (analysed) must((*writer)->replace_analysis(true_analysis(run)));
  must((*writer)->finish());
}

std::unique_ptr<TraceReader> open_store(const std::filesystem::path& path) {
  Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
  must(reader.status());
  return *std::move(reader);
}

}  // namespace stepscope::testing

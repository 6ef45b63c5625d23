#include "tests/fuzz/random_recording.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "store/counters.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/reused_store.h"

namespace stepscope::fuzz {
namespace {

constexpr int kMaxEvents = 600;
constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600 * 1'000'000'000;

// What the analyzer and the exporter know by name, and what they must carry whatever it is.
constexpr std::array kNames = {"aten::add",
                               "aten::conv2d",
                               "aten::batch_norm",
                               "aten::add_",
                               "c10d::allreduce_",
                               "nccl:all_reduce",
                               "autograd::engine::evaluate_function: AddBackward0",
                               "AddBackward0",
                               "evaluate",
                               "lengths/8 3 5",
                               "lengths 4 4",
                               "Optimizer.step#SGD.step",
                               "enumerate(DataLoader)#x",
                               "aten::dropout",
                               "step#7",
                               "\"quoted\" \\ \x01 \xff",
                               "",
                               "cudaLaunchKernel",
                               "cudaStreamSynchronize",
                               "cudaMalloc",
                               "cudaMemcpyAsync",
                               "cuLaunchKernel",
                               "cudaGraphLaunch",
                               "ampere_sgemm_128x64_tn",
                               "ncclDevKernel_AllReduce",
                               "[[64,784],[128]]",
                               "[[1,3,8,8]]",
                               "not shapes",
                               "rss_bytes",
                               "cpu_user_ns",
                               "psi_memory_full_us",
                               "gpu_utilization_percent",
                               "cpu_tensor_bytes_forward",
                               "cpu_tensor_bytes",
                               "minor_faults",
                               "oom_score"};

class Generator {
 public:
  Generator(std::span<const std::uint8_t> bytes, TraceWriter& writer)
      : from_(bytes), writer_(writer) {}

  void write() {
    add_places();
    for (int i = 0; i < kMaxEvents && !from_.empty(); ++i) add_event();
    end_threads();
    store();
  }

 private:
  struct OpenOp {
    Op op;
    Duration children{0};
  };
  struct Place {
    ThreadId id{};
    SessionTime now = session_time(1000);
    std::vector<OpenOp> open;
    bool nests = true;  // nothing but ops that nest so far
  };

  StringId name() { return writer_.intern(kNames[from_.byte() % kNames.size()]); }
  Place& place() { return threads_[from_.pick(static_cast<std::uint32_t>(threads_.size()))]; }
  // Mostly short, so that times meet.
  Duration length() {
    const std::uint32_t kind = from_.pick(8);
    if (kind < 5) return Duration(from_.pick(16));
    if (kind < 7) return Duration(static_cast<std::int64_t>(from_.bits(3)));
    return Duration(static_cast<std::int64_t>(from_.bits(7)) % kYear);
  }
  SessionTime time() {
    const std::uint32_t kind = from_.pick(8);
    if (kind < 6) {
      const SessionTime near = latest_ + length() - Duration(from_.pick(64));
      return std::min(near, session_time(kYear));  // farther than a store may hold
    }
    const auto any = static_cast<std::int64_t>(from_.bits(7)) % kYear;
    return session_time(kind == 6 ? any : -any);
  }
  std::int64_t correlation() {
    const std::uint32_t number = from_.pick(8);
    return number == 0 ? 0 : correlation_of(ProcessId{1 + from_.pick(2)}, number);
  }
  template <typename Row>
  Row& stamp(Row& row) {
    row.start = time();
    row.dur = length();
    latest_ = std::min(std::max(latest_, row.start + row.dur), session_time(kYear));
    return row;
  }
  // kNone where there are none.
  StreamId stream() { return StreamId{streams_ == 0 ? 0 : 1 + from_.pick(streams_)}; }

  void add_places() {
    processes_ = 1 + from_.pick(3);
    const std::uint32_t threads = 1 + from_.pick(4);
    for (std::uint32_t i = 0; i < processes_; ++i) {
      Process process;
      process.pid = 100 + from_.pick(4);
      process.parent_pid = 100 + from_.pick(4);
      process.name = "train";
      process.rank = static_cast<std::int64_t>(from_.pick(4)) - 1;
      require(writer_.add_process(process).ok(), "a process is taken");
    }
    for (std::uint32_t i = 0; i < threads; ++i) {
      Thread thread;
      thread.process = ProcessId{1 + from_.pick(processes_)};
      thread.tid = from_.chance(4) ? from_.pick(8) : 100 + from_.pick(8);
      thread.torch_id = from_.pick(4);
      thread.name = from_.chance(2) ? "python" : "";
      const auto id = writer_.add_thread(thread);
      require(id.ok(), "a thread is taken");
      threads_.emplace_back().id = *id;
    }
    devices_ = from_.pick(3);
    for (std::uint32_t i = 0; i < devices_; ++i) {
      Device device;
      device.process = ProcessId{1 + from_.pick(processes_)};
      device.number = from_.pick(3);
      if (from_.chance(2)) {
        device.name = "GPU";
        device.compute_major = 8;
        device.multiprocessors = 108;
        device.max_threads_per_multiprocessor = 2048;
        device.registers_per_multiprocessor = 65536;
        device.shared_bytes_per_multiprocessor = 167936;
      }
      require(writer_.add_device(device).ok(), "a device is taken");
    }
    streams_ = devices_ == 0 ? 0 : from_.pick(4);
    for (std::uint32_t i = 0; i < streams_; ++i) {
      const Stream stream{DeviceId{1 + from_.pick(devices_)}, 1, 7 + from_.pick(3)};
      require(writer_.add_stream(stream).ok(), "a stream is taken");
    }
    if (from_.chance(4)) set_meta("window", "2-3");
    if (from_.chance(4)) set_meta("leaf_op_overhead_ns", "3");
  }
  void set_meta(const char* key, const char* value) {
    require(writer_.set_meta(key, value).ok(), "facts are taken");
  }

  void add_event() {
    switch (from_.pick(16)) {
      case 0:
      case 1:
      case 2:
        return begin_op(place());
      case 3:
      case 4:
      case 5:
        return end_op(place());
      case 6:
        return add_free_op();
      case 7:
        return add_call();
      case 8:
        return add_kernel();
      case 9:
        return add_copy();
      case 10:
        return add_sync();
      case 11:
      case 12:
        return add_step_phase(place());
      case 13:
        return add_free_phase();
      case 14:
        return add_sample();
      default:
        return add_loss();
    }
  }

  Op described_op(ThreadId thread) {
    Op op;
    op.thread = thread;
    op.name = name();
    op.scope = static_cast<OpScope>(from_.pick(10));
    op.phase = static_cast<PhaseKind>(from_.pick(kPhaseKindCount));
    op.sequence = static_cast<std::int64_t>(from_.pick(6)) - 1;
    op.forward_thread = from_.pick(4);
    if (from_.chance(8)) op.shapes = name();
    return op;
  }
  void begin_op(Place& at) {
    at.now += length();
    if (at.now > session_time(kYear)) at.now = session_time(1000);
    OpenOp open{described_op(at.id)};
    open.op.start = at.now;
    open.op.depth = static_cast<std::uint8_t>(std::min<std::size_t>(at.open.size(), 255));
    at.open.push_back(open);
  }
  void end_op(Place& at) {
    if (at.open.empty()) return begin_op(at);
    at.now = std::max(at.now + length(), at.open.back().op.start);
    OpenOp ended = at.open.back();
    at.open.pop_back();
    ended.op.dur = at.now - ended.op.start;
    ended.op.self = std::max(Duration(0), ended.op.dur - ended.children);
    if (!at.open.empty()) at.open.back().children += ended.op.dur;
    latest_ = std::max(latest_, at.now);
    ops_.push_back(ended.op);
  }
  void add_free_op() {
    Place& at = place();
    at.nests = false;
    Op op = described_op(at.id);
    stamp(op);
    op.self = op.dur;
    op.depth = from_.byte();
    ops_.push_back(op);
  }
  void add_call() {
    ApiCall call;
    call.thread = place().id;
    call.name = name();
    stamp(call);
    call.correlation = correlation();
    calls_.push_back(call);
  }
  void add_kernel() {
    Kernel kernel;
    kernel.stream = stream();
    kernel.name = name();
    stamp(kernel);
    kernel.correlation = correlation();
    kernel.grid = {1 + static_cast<int>(from_.pick(9)), 1, 1};
    kernel.block = {32, 1 + static_cast<int>(from_.pick(40)), 1};
    kernel.registers = from_.byte();
    kernel.static_shared_bytes = from_.byte() * 64;
    kernel.graph = from_.pick(2);
    if (kernel.stream != StreamId::kNone) kernels_.push_back(kernel);
  }
  void add_copy() {
    Copy copy;
    copy.stream = stream();
    stamp(copy);
    copy.correlation = correlation();
    copy.bytes = static_cast<std::int64_t>(from_.bits(3));
    if (copy.stream == StreamId::kNone) return;
    if (from_.chance(3)) {
      memsets_.push_back({{copy.stream, copy.start, copy.dur, copy.correlation}, copy.bytes});
      return;
    }
    copy.kind = static_cast<CopyKind>(from_.pick(11));
    copy.source = static_cast<MemoryKind>(from_.pick(8));
    copy.target = static_cast<MemoryKind>(from_.pick(8));
    copies_.push_back(copy);
  }
  void add_sync() {
    if (devices_ == 0) return;
    Sync sync;
    sync.device = DeviceId{1 + from_.pick(devices_)};
    sync.stream = stream();
    sync.kind = static_cast<SyncKind>(from_.pick(5));
    stamp(sync);
    sync.correlation = correlation();
    syncs_.push_back(sync);
  }
  // As a program marks them: one after the other.
  void add_step_phase(Place& at) {
    Phase phase;
    phase.thread = at.id;
    phase.kind = static_cast<PhaseKind>(1 + from_.pick(kPhaseKindCount - 1));
    if (from_.chance(3)) phase.name = name();
    phase.start = at.now;
    phase.dur = phase.kind == PhaseKind::kStep ? Duration(0) : length();
    phase.cpu = Duration(from_.pick(16));
    at.now = std::min(at.now + phase.dur, session_time(kYear));
    phases_.push_back(phase);
  }
  void add_free_phase() {
    Phase phase;
    phase.thread = place().id;
    phase.kind = static_cast<PhaseKind>(from_.pick(kPhaseKindCount));
    phase.name = name();
    stamp(phase);
    phases_.push_back(phase);
  }
  void add_sample() {
    Sample sample;
    sample.process = ProcessId{from_.pick(processes_ + 1)};
    sample.counter = name();
    if (sample.counter == StringId::kNone) return;
    sample.at = time();
    sample.value = static_cast<std::int64_t>(from_.bits(5));
    sample.gpu = static_cast<std::int64_t>(from_.pick(3)) - 1;
    samples_.push_back(sample);
  }
  void add_loss() {
    const Loss loss{from_.chance(2) ? ThreadId::kNone : place().id, "op", 1 + from_.pick(9)};
    require(writer_.add(loss).ok(), "a loss is taken");
  }

  // What is open at the end goes on to end, or its process died in it.
  void end_threads() {
    const bool died = from_.chance(2);
    for (Place& at : threads_) {
      if (!died || !at.nests) {
        while (!at.open.empty()) end_op(at);
        continue;
      }
      for (std::size_t i = 0; i < at.open.size(); ++i) {
        const Op& op = at.open[i].op;
        unfinished_.push_back({at.id, op.name, op.start, op.phase, op.depth});
      }
      latest_ = std::max(latest_, at.now);
    }
    if (!died) return;
    for (std::uint32_t id = 1; id <= processes_; ++id) {
      ProcessEnd end;
      end.process = ProcessId{id};
      end.how = static_cast<EndKind>(from_.pick(3));
      end.code = static_cast<std::int64_t>(from_.pick(20)) - 1;
      end.at = latest_;
      end.step = from_.pick(4);
      end.out_of_memory = from_.chance(4);
      require(writer_.add(end).ok(), "an end is taken");
    }
  }

  void store() {
    bool ok = writer_.add(ops_).ok() && writer_.add(phases_).ok();
    ok = ok && writer_.add(unfinished_).ok() && writer_.add(samples_).ok();
    ok = ok && writer_.add(calls_).ok() && writer_.add(kernels_).ok();
    ok = ok && writer_.add(copies_).ok() && writer_.add(memsets_).ok();
    require(ok && writer_.add(syncs_).ok(), "events are taken");
  }

  ByteSource from_;
  TraceWriter& writer_;
  std::vector<Place> threads_;
  std::uint32_t processes_ = 0, devices_ = 0, streams_ = 0;
  SessionTime latest_ = session_time(1000);
  std::vector<Op> ops_;
  std::vector<Phase> phases_;
  std::vector<UnfinishedOp> unfinished_;
  std::vector<Sample> samples_;
  std::vector<ApiCall> calls_;
  std::vector<Kernel> kernels_;
  std::vector<Copy> copies_;
  std::vector<Memset> memsets_;
  std::vector<Sync> syncs_;
};

}  // namespace

void write_recording(std::span<const std::uint8_t> bytes, TraceWriter& writer) {
  Generator(bytes, writer).write();
}

}  // namespace stepscope::fuzz

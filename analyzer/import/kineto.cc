#include "analyzer/import/kineto.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "analyzer/import/decimal.h"
#include "analyzer/import/json_string.h"
#include "store/python_range.h"

namespace stepscope {
namespace {

using std::chrono::hours;

// The events of a run lie near each other in time. An event far away has no valid time, and must
// not make the run fifty years long. Kineto writes 0 for activities whose times never arrived; in a
// trace that counts from when the machine started, that may be near enough.
constexpr Duration kReach = hours(24 * 30);
constexpr Duration kReachOfZero = hours(1);

// Times before this one (September 2001) are relative to something else.
constexpr std::int64_t kAbsoluteNs = 1'000'000'000'000'000'000;

// The year 2096; later times could overflow in sums.
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;

constexpr std::int64_t kMaxDevices = 1024;

// Whether an event that is not complete (X) stands for an op: the beginning of one (B; b and S of
// the asynchronous ones), or of a type that the format does not have. The others are ends, flows,
// instants, counters, metadata, snapshots of objects or of memory, and marks of clocks.
bool stands_for_op(std::string_view phase) {
  constexpr std::string_view kOthers = "EenTpFstfIiRCMNODPvVc=(),";
  return phase.size() != 1 || kOthers.find(phase) == std::string_view::npos;
}

std::int64_t integer_or(std::string_view text, std::int64_t otherwise) {
  return text.empty() ? otherwise : parse_integer(text).value_or(otherwise);
}

std::int32_t small_integer(std::string_view text) {
  const std::int64_t value = integer_or(text, 0);
  return value >= 0 && value <= std::numeric_limits<std::int32_t>::max()
             ? static_cast<std::int32_t>(value)
             : 0;
}

// "[50, 1, 1]".
std::array<std::int32_t, 3> extent(std::string_view text) {
  std::array<std::int32_t, 3> sizes{};
  std::size_t at = 0;
  for (std::int32_t& size : sizes) {
    at = text.find_first_of("0123456789", at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    size = small_integer(text.substr(at, end - at));
    at = end;
  }
  return sizes;
}

// The mark that a name stands for; kNone: none.
PhaseKind mark_of(std::string_view name) {
  return profiler_step(name) ? PhaseKind::kStep : python_range(name).kind;
}

}  // namespace

KinetoReader::KinetoReader(RunBuilder& run, std::string name)
    : run_(run), name_(std::move(name)), process_(run.add_process()), memory_(run, process_) {}

Status KinetoReader::read(ByteSource& source, const std::function<bool()>& keep_going) {
  TraceCutter cutter(source, name_);
  while (true) {
    if (!keep_going()) return Status::error(ErrorKind::kIo, name_ + ": interrupted");
    const Result<TracePiece> piece = cutter.next();
    if (!piece.ok()) return piece.status();
    if (piece->kind == TracePiece::Kind::kEnd) return {};
    if (piece->kind == TracePiece::Kind::kMember) {
      header_.take(piece->key, piece->text);
    } else if (Status status = read_batch(*piece, cutter); !status.ok()) {
      return status;
    }
  }
}

Status KinetoReader::read_batch(const TracePiece& piece, const TraceCutter& cutter) {
  if (!anchor_ns_) find_anchor(piece);
  const std::int64_t broken =
      parser_.parse(piece, [this](const TraceEvent& event) { take(event); });
  if (!status_.ok()) return status_;
  return broken < 0 ? Status() : cutter.error_at(piece.offset + broken, "this event is not JSON");
}

// The median start of the first events: some may be wrong, but not most.
void KinetoReader::find_anchor(const TracePiece& piece) {
  std::vector<std::int64_t> starts;
  parser_.parse(piece, [&starts](const TraceEvent& event) {
    if (event.phase != "X") return;
    const std::optional<std::int64_t> start = parse_microseconds(event.start);
    if (start && *start != 0) starts.push_back(*start);
  });
  if (starts.empty()) return;
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  anchor_ns_ = *middle;
}

void KinetoReader::take(const TraceEvent& event) {
  if (!status_.ok()) return;
  if (event.phase == "M") return take_metadata(event);
  if (event.name == "[memory]") return take_memory(event);
  const KinetoKind kind = kineto_kind(event.category);
  ++counts_[static_cast<std::size_t>(kind)];
  if (kind == KinetoKind::kRedundant || kind == KinetoKind::kUnknown ||
      kind == KinetoKind::kPython) {
    return;
  }
  if (event.phase == "X") {
    status_ = take_complete(kind, event);
  } else if (stands_for_op(event.phase)) {
    ++incomplete_;
    run_.count_loss("incomplete");
  }
}

Status KinetoReader::take_complete(KinetoKind kind, const TraceEvent& event) {
  old_names_ = old_names_ || (event.category[0] >= 'A' && event.category[0] <= 'Z');
  const std::optional<Placed> at = place(event);
  if (!at) {
    run_.count_loss("bad_event");
    return {};
  }
  switch (kind) {
    case KinetoKind::kOp:
      return take_op(event, *at, false);
    case KinetoKind::kAnnotation:
      return take_op(event, *at, true);
    case KinetoKind::kCall:
      return take_call(event, *at);
    case KinetoKind::kKernel:
      return take_kernel(event, *at);
    case KinetoKind::kCopy:
      return take_copy(event, *at);
    case KinetoKind::kMemset:
      return take_memset(event, *at);
    case KinetoKind::kSync:
      return take_sync(event, *at);
    default:
      return {};
  }
}

std::optional<KinetoReader::Placed> KinetoReader::place(const TraceEvent& event) {
  const std::optional<std::int64_t> start = parse_microseconds(event.start);
  const std::optional<std::int64_t> dur =
      event.duration.empty() ? std::int64_t{0} : parse_microseconds(event.duration);
  if (!start || *start < 0 || *start > kLatestNs) return std::nullopt;
  if (!dur || *dur < 0 || Duration(*dur) > kReach) return std::nullopt;
  const Duration ahead = Duration(*start) - Duration(anchor_ns_.value_or(*start));
  if (ahead < -(*start == 0 ? kReachOfZero : kReach) || ahead > kReach) return std::nullopt;
  return Placed{session_time(*start), Duration(*dur)};
}

Status KinetoReader::take_op(const TraceEvent& event, const Placed& at, bool annotation) {
  RankedOp op;
  op.thread = thread_of(event);
  op.name = run_.intern(event.name);
  op.start = at.start;
  op.dur = at.dur;
  op.rank = static_cast<std::uint32_t>(integer_or(event.external_id, 0));
  op.phase = mark_of(event.name);
  const std::int64_t forward = integer_or(event.forward_thread, 0);
  if (annotation || op.phase != PhaseKind::kNone) {
    op.scope = OpScope::kUser;
  } else if (is_autograd_node(event.name, forward)) {
    op.scope = OpScope::kBackwardFunction;
    op.phase = PhaseKind::kBackward;
  }
  if (!event.sequence.empty()) {
    op.sequence = integer_or(event.sequence, -1);
    op.forward_thread =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(forward, 0, UINT32_MAX));
    if (op.forward_thread != 0) forward_ids_.insert(op.forward_thread);
    if (op.forward_thread == 0 && op.sequence >= 0) forward_threads_.insert(op.thread);
  }
  if (!event.input_dims.empty()) {
    shapes_.clear();
    std::copy_if(event.input_dims.begin(), event.input_dims.end(), std::back_inserter(shapes_),
                 [](char c) { return c != ' '; });
    op.shapes = run_.intern(shapes_);
  }
  if (op.scope == OpScope::kUser && op.phase != PhaseKind::kNone) {
    if (Status status = add_mark(op, event.name); !status.ok()) return status;
  }
  // A step does not count as the phase of its ops, because it contains all of them.
  if (op.phase == PhaseKind::kStep) op.phase = PhaseKind::kNone;
  return run_.add(op);
}

Status KinetoReader::add_mark(const RankedOp& op, std::string_view name) {
  const PythonRange range = python_range(name);
  const std::string_view label = op.phase == PhaseKind::kStep ? name : range.name;
  // A trace has no CPU times.
  return run_.add(Phase{op.thread, op.phase, run_.intern(label), op.start, op.dur,
                        range.own_work ? op.dur : Duration(0)});
}

Status KinetoReader::take_call(const TraceEvent& event, const Placed& at) {
  return run_.add(ApiCall{thread_of(event), run_.intern(event.name), at.start, at.dur,
                          correlation(event.correlation)});
}

Activity KinetoReader::activity(const TraceEvent& event, const Placed& at) {
  return {stream_of(event), at.start, at.dur, correlation(event.correlation)};
}

Status KinetoReader::take_kernel(const TraceEvent& event, const Placed& at) {
  Kernel kernel{activity(event, at)};
  kernel.name = run_.intern(event.name);
  kernel.grid = extent(event.grid);
  kernel.block = extent(event.block);
  kernel.registers = small_integer(event.registers);
  kernel.static_shared_bytes = integer_or(event.shared_memory, 0);
  kernel.graph = integer_or(event.graph, 0);
  kernel.graph_node = integer_or(event.graph_node, 0);
  return run_.add(kernel);
}

Status KinetoReader::take_copy(const TraceEvent& event, const Placed& at) {
  const CopyName name = parse_copy_name(event.name);
  return run_.add(
      Copy{activity(event, at), name.kind, name.source, name.target, integer_or(event.bytes, 0)});
}

Status KinetoReader::take_memset(const TraceEvent& event, const Placed& at) {
  return run_.add(Memset{activity(event, at), integer_or(event.bytes, 0)});
}

Status KinetoReader::take_sync(const TraceEvent& event, const Placed& at) {
  Sync sync;
  sync.device = device_of(event);
  // -1: all streams.
  if (integer_or(event.stream, -1) >= 0) sync.stream = stream_of(event);
  std::string buffer;
  sync.kind = parse_sync_kind(event.sync_kind.empty() ? event.name
                                                      : unescape_json(event.sync_kind, buffer));
  sync.start = at.start;
  sync.dur = at.dur;
  sync.correlation = correlation(event.correlation);
  return run_.add(sync);
}

// An event whose number cannot be CUPTI's is kept, but not joined to anything.
std::int64_t KinetoReader::correlation(std::string_view text) {
  const std::int64_t number = integer_or(text, text.empty() ? 0 : -1);
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) {
    run_.count_loss("correlation");
    return 0;
  }
  return number == 0 ? 0 : correlation_of(process_, static_cast<std::uint32_t>(number));
}

ThreadId KinetoReader::thread_of(const TraceEvent& event) {
  key_.assign(event.process).append(1, '\0').append(event.thread);
  if (key_ == last_thread_key_) return last_thread_;
  last_thread_key_ = key_;
  if (const auto known = threads_.find(key_); known != threads_.end()) {
    return last_thread_ = known->second;
  }
  last_thread_ = run_.add_thread(process_of(event.process));
  threads_.emplace(key_, last_thread_);
  Thread& thread = run_.thread(last_thread_);
  const std::optional<std::int64_t> tid = parse_integer(event.thread);
  thread.tid = tid.value_or(0);
  if (!tid) thread.name = event.thread;
  return last_thread_;
}

ProcessId KinetoReader::process_of(std::string_view pid) {
  if (processes_.empty()) processes_.emplace(pid, process_);
  const auto known = processes_.find(pid);
  if (known != processes_.end()) return known->second;
  const ProcessId added = run_.add_process();
  processes_.emplace(pid, added);
  return added;
}

DeviceId KinetoReader::device_of(const TraceEvent& event) {
  // The device's number is also the process of its events.
  std::int64_t number = integer_or(event.device, integer_or(event.process, 0));
  if (number < 0 || number >= kMaxDevices) number = 0;
  DeviceId& device = devices_[number];
  if (device == DeviceId::kNone) device = run_.add_device(process_, number);
  return device;
}

StreamId KinetoReader::stream_of(const TraceEvent& event) {
  const DeviceId device = device_of(event);
  const StreamKey key{device, integer_or(event.context, 0), integer_or(event.stream, 0)};
  if (key == last_stream_key_) return last_stream_;
  last_stream_key_ = key;
  StreamId& stream = streams_[key];
  if (stream == StreamId::kNone) {
    stream = run_.add_stream(device, std::get<1>(key), std::get<2>(key));
  }
  return last_stream_ = stream;
}

void KinetoReader::take_metadata(const TraceEvent& event) {
  std::string buffer;
  const std::string name(unescape_json(event.text_name, buffer));
  if (event.name == "process_name") process_names_[std::string(event.process)] = name;
  if (event.name == "thread_name") {
    key_.assign(event.process).append(1, '\0').append(event.thread);
    thread_names_[key_] = name;
  }
}

void KinetoReader::take_memory(const TraceEvent& event) {
  const std::optional<Placed> at = place(event);
  const std::int64_t allocated = integer_or(event.total_allocated, -1);
  if (!at || allocated < 0) return;
  const std::int64_t device = integer_or(event.device_id, 0);
  const bool on_host = integer_or(event.device_type, 0) == 0;  // then the device is -1, or 0
  if (!on_host && (device < 0 || device >= kMaxDevices)) return;
  status_ =
      memory_.take({on_host, device, at->start, allocated, integer_or(event.total_reserved, -1)});
}

void KinetoReader::name_everything() {
  for (const auto& [pid, id] : processes_) {
    Process& process = run_.process(id);
    process.pid = parse_integer(pid).value_or(0);
    if (const auto name = process_names_.find(pid); name != process_names_.end()) {
      process.name = name->second;
    }
  }
  run_.process(process_).rank = rank_;
  for (const auto& [key, id] : threads_) {
    const auto name = thread_names_.find(key);
    if (name != thread_names_.end()) run_.thread(id).name = own_thread_name(name->second);
  }
  for (const auto& [number, id] : devices_) {
    const auto known = header_.devices.find(number);
    if (known == header_.devices.end()) continue;
    run_.device(id) = known->second;
    run_.device(id).process = process_;
  }
}

Status KinetoReader::finish(std::int64_t rank) {
  rank_ = header_.rank.value_or(rank);
  name_everything();
  // Nodes name the thread of their forward op by libtorch's number. If there is only one such
  // thread and one such number, they belong together.
  if (forward_threads_.size() == 1 && forward_ids_.size() == 1) {
    run_.thread(*forward_threads_.begin()).torch_id = *forward_ids_.begin();
  }
  const Status status = memory_.end();
  return status.ok() ? run_.end_source(Duration(header_.base_ns.value_or(0))) : status;
}

bool KinetoReader::has_wall_clock() const {
  return header_.base_ns || anchor_ns_.value_or(0) >= kAbsoluteNs;
}

bool KinetoReader::any_known() const {
  std::int64_t known = 0;
  for (int i = 0; i < kKinetoKindCount; ++i)
    known += i == static_cast<int>(KinetoKind::kUnknown) ? 0 : counts_[static_cast<std::size_t>(i)];
  return known > 0;
}

const char* KinetoReader::dialect() const {
  if (header_.exported) return "an export of Stepscope";
  if (old_names_) return "PyTorch profiler, 2021";
  if (header_.base_ns) return "PyTorch profiler, since May 2024";
  return header_.display_unit ? "PyTorch profiler, early 2024" : "PyTorch profiler, 2022-23";
}

}  // namespace stepscope

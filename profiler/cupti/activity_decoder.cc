#include "profiler/cupti/activity_decoder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "store/limits.h"

namespace stepscope {
namespace {

// Copies the record, since the program may write while we read.
template <typename Record>
Record read(const std::byte* bytes) {
  Record record;
  std::memcpy(&record, bytes, sizeof(record));
  return record;
}

template <typename Enum>
Enum enum_of(std::uint32_t value, Enum last) {
  return value <= static_cast<std::uint32_t>(last) ? static_cast<Enum>(value) : Enum();
}

std::int32_t small(std::uint32_t value) {
  return value <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(value) : 0;
}

// No device has more memory: a larger value comes from corrupted memory and counts as unknown.
std::int64_t bytes_of(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(kLargestCopy) ? static_cast<std::int64_t>(value) : 0;
}

std::int64_t amount(std::uint64_t value) {
  return value <= std::numeric_limits<std::int64_t>::max() ? static_cast<std::int64_t>(value) : 0;
}

// As nvidia-smi writes it; "": CUPTI does not know it.
std::string uuid_text(std::span<const std::uint8_t, 16> uuid) {
  if (std::all_of(uuid.begin(), uuid.end(), [](std::uint8_t byte) { return byte == 0; })) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] / 16];
    text += kDigits[uuid[i] % 16];
  }
  return text;
}

// How much of a record of this kind is read.
std::size_t bytes_read(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kCopy:
      return sizeof(CopyRecord);
    case ActivityKind::kPeerCopy:
      return sizeof(PeerCopyRecord);
    case ActivityKind::kMemset:
      return sizeof(MemsetRecord);
    case ActivityKind::kDriverCall:
    case ActivityKind::kRuntimeCall:
      return sizeof(ApiRecord);
    case ActivityKind::kDevice:
      return sizeof(DeviceRecord);
    case ActivityKind::kContext:
      return sizeof(ContextRecord);
    case ActivityKind::kKernel:
      return sizeof(KernelRecord);
    case ActivityKind::kSync:
      return sizeof(SyncRecord);
    case ActivityKind::kOverhead:
      return sizeof(OverheadRecord);
  }
  return SIZE_MAX;
}

// Records begin at multiples of 8.
RecordSizes sane(const RecordSizes& sizes) {
  RecordSizes kept;
  for (const ActivityKind kind : kRecordedKinds) {
    const std::uint32_t bytes = sizes.of(kind);
    if (bytes % 8 == 0 && bytes >= bytes_read(kind)) {
      kept.bytes[static_cast<std::size_t>(kind)] = bytes;
    }
  }
  return kept;
}

std::string_view name_of(OverheadType type) {
  switch (type) {
    case OverheadType::kCompiler:
      return "driver: compile";
    case OverheadType::kBufferFlush:
      return "CUPTI: flush buffers";
    case OverheadType::kInstrumentation:
      return "CUPTI: instrumentation";
    case OverheadType::kResource:
      return "CUPTI: resources";
    case OverheadType::kModuleLoading:
      return "driver: load module";
    case OverheadType::kFunctionLoading:
      return "driver: load function";
    case OverheadType::kCommandBufferFull:
      return "driver: command buffer full";
    case OverheadType::kBufferRequest:
      return "CUPTI: request buffer";
    case OverheadType::kManagedMemory:
      return "CUPTI: managed memory";
  }
  return "CUPTI: other overhead";
}

bool contains(const TimeRange& outer, const ApiCall& call) {
  return outer.start <= call.start && call.start + call.dur <= outer.end;
}

}  // namespace

void DeviceEvents::clear() {
  calls.clear();
  kernels.clear();
  copies.clear();
  memsets.clear();
  syncs.clear();
}

ActivityDecoder::ActivityDecoder(const RecordSizes& sizes, ActivityContext& context)
    : sizes_(sane(sizes)), context_(context) {}

void ActivityDecoder::decode(std::span<const std::byte> bytes, const ClockMap& clock,
                             DeviceEvents& out) {
  driver_calls_.clear();
  runtime_calls_.clear();
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= bytes.size();) {
    const auto kind = read<std::uint32_t>(bytes.data() + at);
    if (kind == 0) break;
    const std::uint32_t size = sizes_.of(kind);
    if (size == 0 || size > bytes.size() - at) {
      ++bad_;
      break;
    }
    take(bytes.data() + at, static_cast<ActivityKind>(kind), clock, out);
    at += size;
  }
  add_outer_driver_calls(out);
  take_waiting_syncs(clock, out);
}

// Of contexts that have become known.
void ActivityDecoder::take_waiting_syncs(const ClockMap& clock, DeviceEvents& out) {
  if (waiting_syncs_.empty() || device_of_context_.size() == contexts_at_last_try_) return;
  contexts_at_last_try_ = device_of_context_.size();
  for (const SyncRecord& sync : std::exchange(waiting_syncs_, {})) take_sync(sync, clock, out);
}

void ActivityDecoder::give_up_waiting() {
  bad_ += static_cast<std::int64_t>(waiting_syncs_.size());
  waiting_syncs_.clear();
}

void ActivityDecoder::take(const std::byte* record, ActivityKind kind, const ClockMap& clock,
                           DeviceEvents& out) {
  switch (kind) {
    case ActivityKind::kRuntimeCall:
    case ActivityKind::kDriverCall:
      return take_call(record, kind, clock, out);
    case ActivityKind::kKernel:
      return take_kernel(record, clock, out);
    case ActivityKind::kCopy:
      return take_copy<CopyRecord>(record, clock, out);
    case ActivityKind::kPeerCopy:
      return take_copy<PeerCopyRecord>(record, clock, out);
    case ActivityKind::kMemset:
      return take_memset(record, clock, out);
    case ActivityKind::kSync:
      return take_sync(read<SyncRecord>(record), clock, out);
    case ActivityKind::kOverhead:
      return take_overhead(record, clock, out);
    case ActivityKind::kContext:
      return take_context(record);
    case ActivityKind::kDevice:
      return take_device(record);
  }
}

// CUPTI writes 0 for a time that it could not determine.
bool ActivityDecoder::place(std::uint64_t start, std::uint64_t end, const ClockMap& clock,
                            Span& span) {
  constexpr std::chrono::hours kLongest{24 * 30};
  const SessionTime from = clock.to_session(Ticks{start});
  const SessionTime to = clock.to_session(Ticks{end});
  if (start == 0 || end < start || to < from || to - from > kLongest || !is_storable(from) ||
      !is_storable(to)) {
    ++bad_;
    return false;
  }
  span = {from, to - from};
  return true;
}

template <typename Record>
bool ActivityDecoder::activity(const Record& record, const ClockMap& clock, Activity& activity) {
  Span span;
  if (!place(record.start, record.end, clock, span)) return false;
  know_context(record.context, record.device);
  activity.stream = context_.stream(record.device, record.context, record.stream);
  activity.start = span.start;
  activity.dur = span.dur;
  activity.correlation = context_.correlation(record.correlation);
  return true;
}

void ActivityDecoder::take_call(const std::byte* bytes, ActivityKind kind, const ClockMap& clock,
                                DeviceEvents& out) {
  const auto record = read<ApiRecord>(bytes);
  Span span;
  if (!place(record.start, record.end, clock, span)) return;
  const bool driver = kind == ActivityKind::kDriverCall;
  ApiCall call;
  call.name = context_.call_name(driver ? NameSpace::kDriverCall : NameSpace::kRuntimeCall,
                                 record.callback);
  call.start = span.start;
  call.dur = span.dur;
  call.correlation = context_.correlation(record.correlation);
  if (driver) {
    driver_calls_.push_back({call, record.thread});
    return;
  }
  call.thread = context_.thread(record.thread);
  runtime_calls_[record.thread].push_back({call.start, call.start + call.dur});
  out.calls.push_back(call);
}

// The runtime calls of one thread never nest, so only the last one that began before a driver call
// can contain it.
void ActivityDecoder::add_outer_driver_calls(DeviceEvents& out) {
  for (auto& [tid, calls] : runtime_calls_) {
    std::ranges::sort(calls, {}, &TimeRange::start);
  }
  for (DriverCall& inner : driver_calls_) {
    const auto thread = runtime_calls_.find(inner.tid);
    if (thread != runtime_calls_.end()) {
      const auto& calls = thread->second;
      const auto after = std::ranges::upper_bound(calls, inner.call.start, {}, &TimeRange::start);
      if (after != calls.begin() && contains(*(after - 1), inner.call)) continue;
    }
    inner.call.thread = context_.thread(inner.tid);
    out.calls.push_back(inner.call);
  }
}

void ActivityDecoder::take_kernel(const std::byte* bytes, const ClockMap& clock,
                                  DeviceEvents& out) {
  const auto record = read<KernelRecord>(bytes);
  Kernel kernel;
  if (!activity(record, clock, kernel)) return;
  kernel.name = context_.kernel_name(record.name);
  for (std::size_t i = 0; i < 3; ++i) {
    kernel.grid[i] = small(record.grid[i]);
    kernel.block[i] = small(record.block[i]);
  }
  kernel.registers = record.registers;
  kernel.static_shared_bytes = record.static_shared_bytes;
  kernel.dynamic_shared_bytes = record.dynamic_shared_bytes;
  kernel.graph = record.graph;
  kernel.graph_node = amount(record.graph_node);
  out.kernels.push_back(kernel);
}

template <typename Record>
void ActivityDecoder::take_copy(const std::byte* bytes, const ClockMap& clock, DeviceEvents& out) {
  const auto record = read<Record>(bytes);
  Copy copy;
  if (!activity(record, clock, copy)) return;
  copy.kind = enum_of(record.copy_kind, CopyKind::kPeerToPeer);
  copy.source = enum_of(record.source, MemoryKind::kManagedStatic);
  copy.target = enum_of(record.target, MemoryKind::kManagedStatic);
  copy.bytes = bytes_of(record.bytes);
  out.copies.push_back(copy);
}

void ActivityDecoder::take_memset(const std::byte* bytes, const ClockMap& clock,
                                  DeviceEvents& out) {
  const auto record = read<MemsetRecord>(bytes);
  Memset memset;
  if (!activity(record, clock, memset)) return;
  memset.bytes = bytes_of(record.bytes);
  out.memsets.push_back(memset);
}

// A sync record names its context, not its device, which a record of the context or a kernel gives.
// CUPTI has a buffer for each thread, so that record may be in a buffer that is delivered later.
void ActivityDecoder::take_sync(const SyncRecord& record, const ClockMap& clock,
                                DeviceEvents& out) {
  Span span;
  if (!place(record.start, record.end, clock, span)) return;
  const auto device = device_of_context_.find(record.context);
  if (device == device_of_context_.end()) {
    constexpr std::size_t kMaxWaiting = 1U << 16;
    if (waiting_syncs_.size() < kMaxWaiting) {
      waiting_syncs_.push_back(record);
    } else {
      ++bad_;
    }
    return;
  }
  Sync sync;
  sync.device = context_.device(device->second);
  if (record.stream != kNoCuptiId) {
    sync.stream = context_.stream(device->second, record.context, record.stream);
  }
  sync.kind = enum_of(record.type, SyncKind::kContext);
  sync.start = span.start;
  sync.dur = span.dur;
  sync.correlation = context_.correlation(record.correlation);
  out.syncs.push_back(sync);
}

// Readers see overhead as a call with its own name and without a correlation. Overhead that belongs
// to no thread delays nothing and is skipped.
void ActivityDecoder::take_overhead(const std::byte* bytes, const ClockMap& clock,
                                    DeviceEvents& out) {
  const auto record = read<OverheadRecord>(bytes);
  Span span;
  if (record.object != kThreadObject || !place(record.start, record.end, clock, span)) return;
  ApiCall call;
  call.thread = context_.thread(record.thread);
  call.name = context_.overhead_name(name_of(static_cast<OverheadType>(record.type)));
  call.start = span.start;
  call.dur = span.dur;
  out.calls.push_back(call);
}

void ActivityDecoder::take_context(const std::byte* bytes) {
  const auto record = read<ContextRecord>(bytes);
  know_context(record.context, record.device);
}

void ActivityDecoder::know_context(std::uint32_t context, std::uint32_t device) {
  constexpr std::size_t kMaxContexts = 1U << 16;  // more than exist, unless the record is corrupt
  if (device_of_context_.size() < kMaxContexts) device_of_context_[context] = device;
}

void ActivityDecoder::take_device(const std::byte* bytes) {
  const auto record = read<DeviceRecord>(bytes);
  Device device;
  device.number = record.number;
  device.memory_bytes = amount(record.memory_bytes);
  device.compute_major = record.compute_major;
  device.compute_minor = record.compute_minor;
  device.multiprocessors = record.multiprocessors;
  device.max_threads_per_multiprocessor =
      amount(std::uint64_t{record.max_warps_per_multiprocessor} * record.threads_per_warp);
  device.registers_per_multiprocessor = record.registers_per_multiprocessor;
  device.shared_bytes_per_multiprocessor = record.shared_bytes_per_multiprocessor;
  context_.describe(device, record.name, uuid_text(record.uuid));
}

}  // namespace stepscope

#include "profiler/cupti/collector.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "profiler/cupti/query_calls.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/prefault.h"

namespace stepscope {
namespace {

// CUpti_CallbackDomain.
constexpr int kDriverDomain = 1;
constexpr int kRuntimeDomain = 2;

constexpr int kSystemThreadIds = 1;            // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
constexpr std::uint32_t kForced = 1;           // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr CuptiResult kNotInitialized = 15;    // CUPTI_ERROR_NOT_INITIALIZED
constexpr CuptiResult kNoPrivileges = 35;      // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
constexpr CuptiResult kSecondSubscriber = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr CuptiResult kNoPrivilegesInVm = 40;  // CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_…

Status unavailable(const std::string& why) { return Status::error(ErrorKind::kUnavailable, why); }

// CUPTI takes its times from this clock, the same as for ops.
std::uint64_t now() { return to_count(read_ticks()); }

// Never called, since no callbacks are enabled. Subscribing reserves CUPTI for us.
void no_callback(void*, int, std::uint32_t, const void*) {}

template <typename Record>
Record read(const std::uint8_t* bytes) {
  Record record;
  std::memcpy(&record, bytes, sizeof(record));
  return record;
}

std::string_view text_at(std::uint64_t address) {
  return address == 0 ? std::string_view() : reinterpret_cast<const char*>(address);
}

}  // namespace

Collector& Collector::get() {
  // In static memory: the first call may come from where an exception would end the program.
  alignas(Collector) static std::byte memory[sizeof(Collector)];
  static auto* const collector = new (memory) Collector;
  return *collector;
}

std::optional<std::string> Collector::follow(const Region& region, bool wanted) {
  const MutexLock lock(mutex_);
  if (state_ == State::kUnusable || (state_ == State::kIdle && !wanted)) return std::nullopt;
  Status status;
  if (state_ == State::kIdle) {
    if (!cuda_is_in_use()) return std::nullopt;
    status = start(region);
  }
  if (status.ok()) status = set_recording(wanted);
  if (status.ok()) flush_when_due();
  if (status.ok()) return std::nullopt;
  state_ = State::kUnusable;
  // Leave CUPTI to a profiler that the program may start itself.
  if (subscriber_ != nullptr) cupti_.unsubscribe(std::exchange(subscriber_, nullptr));
  return "no device recording: " + status.message() + "; the rest is recorded, kernels are not";
}

Status Collector::check(CuptiResult result, const char* what) const {
  switch (result) {
    case 0:
      return {};
    case kNotInitialized:
      return unavailable("CUPTI finds no NVIDIA driver or no GPU");
    case kNoPrivileges:
    case kNoPrivilegesInVm:
      return unavailable(
          "this user may not profile the GPU (`stepscope doctor` says how to allow it)");
    case kSecondSubscriber:
      return unavailable("another profiler in this process has CUPTI");
    default:
      break;
  }
  const char* text = nullptr;
  if (cupti_.get_result_string(result, &text) != 0 || text == nullptr) text = "an unknown error";
  return unavailable(cupti_.path + ": " + what + ": " + text + " (" + std::to_string(result) + ")");
}

// Done once per process. CUPTI must have our clock before any kind is enabled.
Status Collector::prepare_library() {
  if (cupti_.next_record != nullptr) return {};
  auto library = load_cupti();
  if (!library.ok()) return library.status();
  cupti_ = *std::move(library);
  Status status = check(cupti_.get_version(&version_), "cuptiGetVersion");
  if (!status.ok()) return status;
  sizes_ = measure_record_sizes(cupti_.next_record);
  if (const auto unknown = find_unknown_record(sizes_)) {
    return unavailable(cupti_.path + " is a CUPTI that this Stepscope does not know (API version " +
                       std::to_string(version_) + ", " + unknown->kind + " records of " +
                       std::to_string(unknown->bytes) + " bytes)");
  }
  status = check(cupti_.subscribe(&subscriber_, no_callback, nullptr), "cuptiSubscribe");
  if (status.ok()) {
    status = check(cupti_.set_thread_id_type(kSystemThreadIds), "cuptiSetThreadIdType");
  }
  if (status.ok()) {
    status =
        check(cupti_.register_timestamp_callback(now), "cuptiActivityRegisterTimestampCallback");
  }
  if (status.ok()) {
    status = check(cupti_.register_callbacks(buffer_requested, buffer_completed),
                   "cuptiActivityRegisterCallbacks");
  }
  if (!status.ok()) return status;
  find_query_calls();
  // Registered now that CUDA is initialised, so that this handler runs before CUDA's own.
  std::atexit(stop_at_exit);
  return {};
}

Status Collector::start(const Region& region) {
  if (Status status = prepare_library(); !status.ok()) return status;
  DeviceArea* area = device_area(region);
  if (!prefault(area->names, sizeof(DeviceArea) - offsetof(DeviceArea, names))) {
    return unavailable("no memory for its buffers");
  }
  area->cupti_version = version_;
  area->record_sizes = sizes_;
  {
    const MutexLock lock(names_mutex_);
    names_.start(area);
  }
  area->described.store(1, std::memory_order_release);
  area_.store(area, std::memory_order_release);
  state_ = State::kReady;
  return {};
}

Status Collector::set_recording(bool on) {
  if (on == (state_ == State::kRecording)) return {};
  Status status;
  for (const ActivityKind kind : kRecordedKinds) {
    const auto number = static_cast<std::uint32_t>(kind);
    const CuptiResult result = on ? cupti_.enable(number) : cupti_.disable(number);
    if (on && status.ok()) status = check(result, "cuptiActivityEnable");
  }
  if (!status.ok()) {
    for (const ActivityKind kind : kRecordedKinds) cupti_.disable(static_cast<std::uint32_t>(kind));
    return status;
  }
  // No cuptiActivityFlushPeriod(): with it, CUPTI delivers full buffers once a period only.
  if (on) {
    leave_out_query_calls();
    describe_devices();
  }
  flush_at_ns_ = read_clock_ns(CLOCK_MONOTONIC) + kFlushPeriodNs;
  state_ = on ? State::kRecording : State::kReady;
  area_.load()->recording.store(on ? 1 : 0, std::memory_order_relaxed);
  return {};
}

void Collector::find_query_calls() {
  constexpr std::uint32_t kFunctions = 2000;  // more than CUDA has, of either kind
  const auto find = [this](int domain, std::vector<std::uint32_t>& found) {
    for (std::uint32_t function = 1; function < kFunctions; ++function) {
      const char* name = nullptr;
      if (cupti_.get_callback_name(domain, function, &name) != 0 || name == nullptr) continue;
      if (is_query_call(name)) found.push_back(function);
    }
  };
  if (cupti_.enable_runtime_call != nullptr) find(kRuntimeDomain, runtime_queries_);
  if (cupti_.enable_driver_call != nullptr) find(kDriverDomain, driver_queries_);
}

void Collector::leave_out_query_calls() {
  for (const std::uint32_t function : runtime_queries_) cupti_.enable_runtime_call(function, 0);
  for (const std::uint32_t function : driver_queries_) cupti_.enable_driver_call(function, 0);
}

// By records in a buffer of their own, as if CUPTI had written them. The program may initialise
// CUDA at any time, so this is tried again with each flush. Not in each step: it looks up
// functions.
void Collector::describe_devices() {
  if (told_of_devices_) return;
  if (devices_.empty()) devices_ = read_cuda_devices();
  const std::size_t bytes = sizes_.of(ActivityKind::kDevice);
  std::uint8_t* buffer = nullptr;
  std::size_t room = 0, most = 0;
  if (devices_.empty()) return;
  buffer_requested(&buffer, &room, &most);
  if (buffer == nullptr) return;
  std::size_t used = 0;
  for (CudaDevice& device : devices_) {
    if (used + bytes > room) break;
    device.record.name = reinterpret_cast<std::uint64_t>(device.name.c_str());
    std::memcpy(buffer + used, &device.record, sizeof(device.record));
    used += bytes;
  }
  hand_over(*area_.load(), buffer, used);
  told_of_devices_ = true;
}

void Collector::flush_when_due() {
  if (flush_at_ns_ == 0) return;
  const std::int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (now_ns < flush_at_ns_) return;
  describe_devices();
  static_cast<void>(cupti_.flush_all(0));
  flush_at_ns_ = state_ == State::kRecording ? now_ns + kFlushPeriodNs : 0;
}

void Collector::stop() {
  const MutexLock lock(mutex_);
  if (state_ != State::kReady && state_ != State::kRecording) return;
  static_cast<void>(set_recording(false));
  describe_devices();
  // Also flush buffers with incomplete records: their ends will not be recorded.
  static_cast<void>(cupti_.flush_all(kForced));
  count_dropped(*area_.load(), nullptr, 0);
  area_.store(nullptr, std::memory_order_release);
  told_of_devices_ = false;
  state_ = State::kIdle;
}

// Static destructors may still mark phases; they must not start a new recording.
void Collector::stop_at_exit() {
  Collector& self = get();
  self.stop();
  const MutexLock lock(self.mutex_);
  self.state_ = State::kUnusable;
}

void Collector::lock() {
  mutex_.lock();
  names_mutex_.lock();
}

void Collector::unlock() {
  names_mutex_.unlock();
  mutex_.unlock();
}

void Collector::abandon_in_child() {
  if (area_.exchange(nullptr) != nullptr || cupti_.next_record != nullptr) {
    state_ = State::kUnusable;
  }
  unlock();
}

void Collector::buffer_requested(std::uint8_t** buffer, std::size_t* bytes,
                                 std::size_t* max_records) {
  *buffer = nullptr;  // CUPTI then drops records, and counts them
  *bytes = 0;
  *max_records = 0;  // as many as fit
  DeviceArea* area = get().area_.load(std::memory_order_acquire);
  if (area == nullptr) return;
  for (std::size_t i = 0; i < kDeviceBuffers; ++i) {
    auto expected = DeviceBufferState::kFree;
    if (!area->buffers[i].state.compare_exchange_strong(expected, DeviceBufferState::kGiven)) {
      continue;
    }
    *buffer = reinterpret_cast<std::uint8_t*>(area->data[i]);
    *bytes = kDeviceBufferBytes;
    return;
  }
}

void Collector::buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t, std::size_t valid_bytes) {
  Collector& self = get();
  DeviceArea* area = self.area_.load(std::memory_order_acquire);
  if (area == nullptr) return;
  self.hand_over(*area, buffer, valid_bytes);
  self.count_dropped(*area, context, stream);
}

void Collector::count_dropped(DeviceArea& area, void* context, std::uint32_t stream) {
  std::size_t dropped = 0;
  if (cupti_.get_num_dropped_records(context, stream, &dropped) == 0 && dropped > 0) {
    area.dropped_records.fetch_add(dropped, std::memory_order_relaxed);
  }
}

// Leaves buffers of an earlier recording, or of another profiler, alone.
void Collector::hand_over(DeviceArea& area, std::uint8_t* buffer, std::size_t valid_bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(area.data);
  const std::ptrdiff_t at = buffer - first;
  if (buffer == nullptr || at < 0 || at >= std::ptrdiff_t{sizeof(area.data)}) return;
  DeviceBuffer& slot = area.buffers[static_cast<std::size_t>(at) / kDeviceBufferBytes];
  if (slot.state.load(std::memory_order_relaxed) != DeviceBufferState::kGiven) return;
  look_through(area, buffer, valid_bytes);
  slot.valid_bytes = static_cast<std::uint32_t>(valid_bytes);
  slot.number = area.full_buffers.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(DeviceBufferState::kFull, std::memory_order_release);
}

// Notes the names that the records refer to, and counts launches.
void Collector::look_through(DeviceArea& area, const std::uint8_t* buffer,
                             std::size_t valid_bytes) {
  const MutexLock lock(names_mutex_);
  std::uint64_t launches = 0;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= valid_bytes;) {
    const auto kind = read<std::uint32_t>(buffer + at);
    const std::uint32_t size = sizes_.of(kind);
    if (size == 0 || size > valid_bytes - at) break;
    const std::uint8_t* record = buffer + at;
    at += size;
    switch (static_cast<ActivityKind>(kind)) {
      case ActivityKind::kKernel: {
        const auto kernel = read<KernelRecord>(record);
        names_.note(NameSpace::kAddress, kernel.name, text_at(kernel.name));
        if (kernel.graph == 0) ++launches;
        break;
      }
      case ActivityKind::kDevice: {
        const std::uint64_t name = read<DeviceRecord>(record).name;
        names_.note(NameSpace::kAddress, name, text_at(name));
        break;
      }
      case ActivityKind::kRuntimeCall:
        note_call(NameSpace::kRuntimeCall, read<ApiRecord>(record).callback);
        break;
      case ActivityKind::kDriverCall:
        note_call(NameSpace::kDriverCall, read<ApiRecord>(record).callback);
        break;
      case ActivityKind::kCopy:
      case ActivityKind::kPeerCopy:
      case ActivityKind::kMemset:
        ++launches;
        break;
      default:
        break;
    }
  }
  area.launches.fetch_add(launches, std::memory_order_relaxed);
}

void Collector::note_call(NameSpace space, std::uint32_t function) {
  if (names_.knows(space, function)) return;
  const int domain = space == NameSpace::kDriverCall ? kDriverDomain : kRuntimeDomain;
  const char* name = nullptr;
  if (cupti_.get_callback_name(domain, function, &name) != 0 || name == nullptr) return;
  names_.note(space, function, name);
}

}  // namespace stepscope

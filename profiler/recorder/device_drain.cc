#include "profiler/recorder/device_drain.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "store/limits.h"
#include "store/loss_kinds.h"

namespace stepscope {
namespace {

// More than a process can have. Keeps a corrupted program from filling the store.
constexpr std::size_t kMaxKnownDevices = 1024;
constexpr std::size_t kMaxStreams = 1U << 16;

std::string demangled(const std::string& name) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 && text != nullptr ? std::string(text.get()) : name;
}

// Strips the suffixes that programs do not write: cudaLaunchKernel_v7000 becomes cudaLaunchKernel.
// cuMemcpyHtoD_v2 stays.
std::string_view without_release(std::string_view name) {
  constexpr std::string_view kPerThread[] = {"_ptsz", "_ptds"};
  for (const std::string_view ending : kPerThread) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || name.size() - at < 6) return name;
  const bool digits = name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return digits ? name.substr(0, at) : name;
}

}  // namespace

DeviceDrain::DeviceDrain(DeviceArea& area, ProcessId process, TraceWriter& writer,
                         const ClockMap& clock, FindThread find_thread)
    : area_(area),
      process_(process),
      writer_(writer),
      clock_(clock),
      find_thread_(std::move(find_thread)) {}

void DeviceDrain::discard_backlog() {
  for (std::size_t i = 0; i < kDeviceBuffers; ++i) {
    if (area_.buffers[i].state.load(std::memory_order_acquire) != DeviceBufferState::kFull)
      continue;
    std::memset(area_.data[i], 0, kDeviceBufferBytes);
    area_.buffers[i].state.store(DeviceBufferState::kFree, std::memory_order_release);
  }
  dropped_before_ = area_.dropped_records.load();
  stored_names_ = area_.lost_names.load();
}

Status DeviceDrain::drain() {
  busy_ = false;
  if (area_.described.load(std::memory_order_acquire) == 0) return {};
  if (!decoder_) decoder_.emplace(area_.record_sizes, static_cast<ActivityContext&>(*this));
  std::vector<std::pair<std::uint64_t, std::size_t>> full;  // in the order of their completion
  for (std::size_t i = 0; i < kDeviceBuffers; ++i) {
    const DeviceBuffer& buffer = area_.buffers[i];
    if (buffer.state.load(std::memory_order_acquire) == DeviceBufferState::kFull) {
      full.emplace_back(buffer.number, i);
    }
  }
  std::ranges::sort(full);
  if (!full.empty()) read_names();  // the names in a buffer are written before it is handed over
  for (const auto& [number, index] : full) {
    busy_ = true;
    const Status status = drain_buffer(index, area_.buffers[index].valid_bytes);
    if (!status.ok()) return status;
    std::memset(area_.data[index], 0, kDeviceBufferBytes);
    area_.buffers[index].state.store(DeviceBufferState::kFree, std::memory_order_release);
  }
  return store_losses();
}

Status DeviceDrain::drain_unfinished() {
  if (Status status = drain(); !status.ok() || !decoder_) return status;
  const std::int64_t bad_before = decoder_->bad_records();
  for (std::size_t i = 0; i < kDeviceBuffers; ++i) {
    if (area_.buffers[i].state.load(std::memory_order_acquire) != DeviceBufferState::kGiven) {
      continue;
    }
    if (Status status = drain_buffer(i, kDeviceBufferBytes); !status.ok()) return status;
    area_.buffers[i].state.store(DeviceBufferState::kFree, std::memory_order_release);
  }
  // What makes no sense in these buffers are records that CUPTI had begun.
  unfinished_ = static_cast<std::uint64_t>(decoder_->bad_records() - bad_before);
  decoder_->give_up_waiting();
  return store_losses();
}

Status DeviceDrain::drain_buffer(std::size_t index, std::uint32_t valid_bytes) {
  const std::size_t bytes = std::min(valid_bytes, kDeviceBufferBytes);
  decoder_->decode({area_.data[index], bytes}, clock_, decoded_);
  return write_decoded();
}

Status DeviceDrain::write_decoded() {
  events_ += static_cast<std::int64_t>(decoded_.size());
  Status status = failure_;
  if (!discarding_) {
    if (status.ok()) status = writer_.add(decoded_.calls);
    if (status.ok()) status = writer_.add(decoded_.kernels);
    if (status.ok()) status = writer_.add(decoded_.copies);
    if (status.ok()) status = writer_.add(decoded_.memsets);
    if (status.ok()) status = writer_.add(decoded_.syncs);
  }
  decoded_.clear();
  return discarding_ ? Status() : status;
}

Status DeviceDrain::store_losses() {
  const std::uint64_t dropped = area_.dropped_records.load(std::memory_order_relaxed);
  Status status =
      store_loss(kDeviceRecord, dropped - dropped_before_ + unfinished_, stored_dropped_);
  if (status.ok()) {
    status =
        store_loss("device_name", area_.lost_names.load(std::memory_order_relaxed), stored_names_);
  }
  if (!status.ok()) return status;
  return store_loss("corrupt", static_cast<std::uint64_t>(decoder_->bad_records()) - unfinished_,
                    stored_bad_);
}

Status DeviceDrain::store_loss(const char* kind, std::uint64_t total, std::uint64_t& stored) {
  if (total <= stored) return {};
  // The number comes from the program's memory and may be anything; the sum must not overflow.
  const auto more = static_cast<std::int64_t>(
      std::min<std::uint64_t>(total - stored, static_cast<std::uint64_t>(kMaxLost)));
  stored = total;
  lost_ = std::min(lost_ + more, kMaxLost);
  return discarding_ ? Status() : writer_.add(Loss{ThreadId::kNone, kind, more});
}

void DeviceDrain::read_names() {
  const std::uint64_t end =
      std::min<std::uint64_t>(area_.name_bytes.load(std::memory_order_acquire), kDeviceNameBytes);
  while (names_read_ + sizeof(DeviceName) <= end) {
    DeviceName name;
    std::memcpy(&name, area_.names + names_read_, sizeof(name));
    const std::uint64_t next = names_read_ + device_name_bytes(name.length);
    if (name.length > kMaxDeviceNameLength || next > end) {
      names_read_ = kDeviceNameBytes;  // corrupt: the next entry cannot be found
      return;
    }
    const auto* text = reinterpret_cast<const char*>(area_.names + names_read_ + sizeof(name));
    take_name(name, {text, name.length});
    names_read_ = next;
  }
}

void DeviceDrain::take_name(const DeviceName& name, std::string_view text) {
  const NameKey key(name.space, name.key);
  texts_[key] = name.space == NameSpace::kAddress ? text : without_release(text);
  names_.erase(key);
}

StringId DeviceDrain::kernel_name(std::uint64_t address) {
  return name_of({NameSpace::kAddress, address});
}

StringId DeviceDrain::call_name(NameSpace space, std::uint32_t function) {
  return name_of({space, function});
}

StringId DeviceDrain::overhead_name(std::string_view name) {
  return discarding_ ? StringId::kNone : writer_.intern(name);
}

// The text at an address is the mangled name of a kernel if a kernel record refers to it.
StringId DeviceDrain::name_of(const NameKey& key) {
  if (discarding_) return StringId::kNone;
  if (const auto known = names_.find(key); known != names_.end()) return known->second;
  const auto text = texts_.find(key);
  if (text == texts_.end()) return StringId::kNone;
  const bool mangled = key.first == NameSpace::kAddress;
  return names_[key] = writer_.intern(mangled ? demangled(text->second) : text->second);
}

template <typename Id>
Id DeviceDrain::keep(const Result<Id>& result) {
  if (result.ok()) return *result;
  if (failure_.ok()) failure_ = result.status();
  return Id::kNone;
}

DeviceId DeviceDrain::device(std::uint32_t number) {
  const auto known = devices_.find(number);
  if (known != devices_.end()) return known->second;
  if (discarding_ || devices_.size() >= kMaxKnownDevices) return DeviceId::kNone;
  Device device;
  device.process = process_;
  device.number = number;
  return devices_[number] = keep(writer_.add_device(device));
}

StreamId DeviceDrain::stream(std::uint32_t device_number, std::uint32_t context,
                             std::uint32_t number) {
  const std::tuple key(device_number, context, number);
  const auto known = streams_.find(key);
  if (known != streams_.end()) return known->second;
  if (discarding_ || streams_.size() >= kMaxStreams) return StreamId::kNone;
  return streams_[key] = keep(writer_.add_stream({device(device_number), context, number}));
}

ThreadId DeviceDrain::thread(std::uint32_t tid) {
  return discarding_ ? ThreadId::kNone : keep(find_thread_(tid));
}

std::int64_t DeviceDrain::correlation(std::uint32_t number) {
  return number == 0 ? 0 : correlation_of(process_, number);
}

void DeviceDrain::describe(const Device& described, std::uint64_t name, const std::string& uuid) {
  if (discarding_) return;
  const DeviceId id = device(static_cast<std::uint32_t>(described.number));
  Device device = described;
  device.process = process_;
  const auto text = texts_.find({NameSpace::kAddress, name});
  if (text != texts_.end()) device.name = text->second;
  if (id == DeviceId::kNone) return;
  if (!uuid.empty()) uuids_[static_cast<std::uint32_t>(device.number)] = uuid;
  if (Status status = writer_.update_device(id, device); !status.ok() && failure_.ok()) {
    failure_ = status;
  }
}

}  // namespace stepscope

// The activities of the devices of a run and the calls that launched them, in memory and in order:
// the sweep over a step needs the next activity of a device, however far off, and the state of the
// thread that launched it.
//
// Memory: 32 bytes an activity and 48 bytes a call, half as much again while reading.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/recording.h"
#include "store/analysis.h"
#include "store/device_events.h"

namespace stepscope {

// What a thread does during an API call.
enum class CallClass : std::uint8_t {
  kLaunch,      // hands work to a device, or asks for something
  kSync,        // waits for a device
  kAllocation,  // allocates or frees device memory or pinned memory
};

// By the names of the CUDA runtime and driver: "cudaStreamSynchronize", "cuMemAlloc_v2".
CallClass call_class(std::string_view name);

// kCommunication for the kernels of a collective library, else kCompute.
Category kernel_category(std::string_view name);

struct HostCall {
  SessionTime start;
  SessionTime end;
  ThreadId thread = ThreadId::kNone;
  std::uint32_t row = 0;  // api_call.id
  CallClass kind = CallClass::kLaunch;

  [[nodiscard]] TimeRange range() const { return {start, end}; }
};

inline constexpr std::uint32_t kNoCall = std::numeric_limits<std::uint32_t>::max();

struct DeviceActivity {
  SessionTime start;
  SessionTime end;
  std::uint32_t call = kNoCall;            // the call that launched it: DeviceWork::call()
  StringId name = StringId::kNone;         // of a kernel
  Category category = Category::kCompute;  // kCompute, kCommunication or kCopy
  bool memset = false;                     // of kCopy
};

// Thread safety: const after read().
class DeviceWork {
 public:
  DeviceWork() = default;
  static Result<DeviceWork> read(const RecordedRun& recording);

  // By start. A memset counts as a copy: memory moved, nothing computed.
  [[nodiscard]] std::span<const DeviceActivity> activities_of(DeviceId device) const;
  [[nodiscard]] const HostCall& call(std::uint32_t index) const { return calls_[index]; }
  [[nodiscard]] std::size_t call_count() const { return calls_.size(); }
  // By start.
  [[nodiscard]] std::span<const HostCall> calls_of(ThreadId thread) const;
  [[nodiscard]] std::uint32_t index_of(const HostCall& call) const {
    return static_cast<std::uint32_t>(&call - calls_.data());
  }
  // The calls that have a correlation, by correlation; of nested calls only the outer one.
  struct Launcher {
    std::int64_t correlation = 0;
    std::uint32_t call = kNoCall;
  };
  [[nodiscard]] std::span<const Launcher> launchers() const { return launchers_; }
  // Null when there is none.
  [[nodiscard]] const Launcher* launcher_of(std::int64_t correlation) const;
  // The devices to which a call of one of `threads` submitted work, in order.
  [[nodiscard]] std::vector<DeviceId> devices_of(const std::set<ThreadId>& threads) const;
  // Whether the device worked, but none of the calls that gave it the work is known.
  [[nodiscard]] bool calls_are_unknown(DeviceId device) const;

 private:
  struct Span {
    std::size_t begin = 0, end = 0;
  };
  class Builder;

  std::vector<HostCall> calls_;  // by thread, then start
  std::vector<Launcher> launchers_;
  std::map<ThreadId, Span> threads_;
  std::map<DeviceId, std::vector<DeviceActivity>> devices_;
  std::map<DeviceId, std::set<ThreadId>> callers_;  // that submitted work to each device
};

}  // namespace stepscope

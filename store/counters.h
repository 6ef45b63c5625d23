// The counters that a recorder samples: their names as stored, and what their values mean.
// docs/schema.md describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stepscope {

enum class CounterKind : std::uint8_t {
  kGauge,  // how much there is now
  kTotal,  // accumulated since the process (or the machine) started: only differences mean anything
};

enum class CounterUnit : std::uint8_t {
  kBytes,
  kCount,
  kNanoseconds,
  kMicroseconds,
  kPercent,
  kMilliwatts,
  kMegahertz,
  kCelsius,
  kMillicores,
};

struct Counter {
  const char* name;  // Sample::counter, interned
  CounterKind kind;
  CounterUnit unit;
  bool of_machine;   // else: of one process
  const char* what;  // a short description for people
};

namespace counter {

// Counters of a process.
inline constexpr char kRss[] = "rss_bytes";
inline constexpr char kMinorFaults[] = "minor_faults";
inline constexpr char kMajorFaults[] = "major_faults";
inline constexpr char kCpuUser[] = "cpu_user_ns";
inline constexpr char kCpuSystem[] = "cpu_system_ns";
inline constexpr char kReadBytes[] = "read_bytes";
inline constexpr char kWriteBytes[] = "write_bytes";
inline constexpr char kVoluntarySwitches[] = "voluntary_switches";
inline constexpr char kInvoluntarySwitches[] = "involuntary_switches";
inline constexpr char kThreads[] = "threads";
inline constexpr char kStopped[] = "stopped";  // only while a signal has it stopped
inline constexpr char kOomScore[] = "oom_score";
inline constexpr char kMemoryLimit[] = "memory_limit_bytes";
inline constexpr char kAddressSpace[] = "address_space_bytes";
inline constexpr char kAddressLimit[] = "address_space_limit_bytes";
inline constexpr char kCores[] = "cores_allowed";
inline constexpr char kCpuQuota[] = "cpu_quota_millicores";
inline constexpr char kCpuThrottled[] = "cpu_throttled_ns";
inline constexpr char kTensorBytes[] = "cpu_tensor_bytes";
// kTensorBytes by owner, in the order of MemoryOwner. Owners that never held any are left out.
inline constexpr const char* kTensorBytesBy[] = {
    "cpu_tensor_bytes_other", "cpu_tensor_bytes_input", "cpu_tensor_bytes_forward",
    "cpu_tensor_bytes_backward", "cpu_tensor_bytes_optimizer"};
inline constexpr char kTensorAllocations[] = "cpu_tensor_allocations";
inline constexpr char kTensorAllocatedBytes[] = "cpu_tensor_allocated_bytes";
inline constexpr char kDeviceAllocatedBytes[] = "device_allocated_bytes";
// kDeviceAllocatedBytes by owner, as far as the allocations were observed.
inline constexpr const char* kDeviceBytesBy[] = {
    "device_tensor_bytes_other", "device_tensor_bytes_input", "device_tensor_bytes_forward",
    "device_tensor_bytes_backward", "device_tensor_bytes_optimizer"};
inline constexpr char kDeviceReservedBytes[] = "device_reserved_bytes";

// Counters of the machine.
inline constexpr char kPsiCpuSome[] = "psi_cpu_some_us";
inline constexpr char kPsiMemorySome[] = "psi_memory_some_us";
inline constexpr char kPsiMemoryFull[] = "psi_memory_full_us";
inline constexpr char kPsiIoSome[] = "psi_io_some_us";
inline constexpr char kPsiIoFull[] = "psi_io_full_us";
inline constexpr char kCpuBusy[] = "cpu_busy_ns";
inline constexpr char kCpuStolen[] = "cpu_stolen_ns";
inline constexpr char kNetReceived[] = "net_rx_bytes";
inline constexpr char kNetSent[] = "net_tx_bytes";
inline constexpr char kMemoryAvailable[] = "memory_available_bytes";

// Counters of one of the machine's GPUs: Sample::gpu says which.
inline constexpr char kGpuUtilization[] = "gpu_utilization_percent";
inline constexpr char kGpuMemoryUtilization[] = "gpu_memory_utilization_percent";
inline constexpr char kGpuMemoryUsed[] = "gpu_memory_used_bytes";
inline constexpr char kGpuPower[] = "gpu_power_mw";
inline constexpr char kGpuSmClock[] = "gpu_sm_clock_mhz";
inline constexpr char kGpuMemoryClock[] = "gpu_memory_clock_mhz";
inline constexpr char kGpuTemperature[] = "gpu_temperature_c";

}  // namespace counter

// All of the above, in that order.
std::span<const Counter> known_counters();

// Null for a counter that this version does not know.
const Counter* find_counter(std::string_view name);

}  // namespace stepscope

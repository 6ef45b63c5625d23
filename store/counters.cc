#include "store/counters.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

using enum CounterKind;
using enum CounterUnit;

constexpr std::array kCounters = {
    Counter{counter::kRss, kGauge, kBytes, false, "memory held"},
    Counter{counter::kMinorFaults, kTotal, kCount, false, "page faults served from memory"},
    Counter{counter::kMajorFaults, kTotal, kCount, false, "page faults served from disk"},
    Counter{counter::kCpuUser, kTotal, kNanoseconds, false, "CPU time in the program"},
    Counter{counter::kCpuSystem, kTotal, kNanoseconds, false, "CPU time in the kernel"},
    Counter{counter::kReadBytes, kTotal, kBytes, false, "read from storage"},
    Counter{counter::kWriteBytes, kTotal, kBytes, false, "written to storage"},
    Counter{counter::kVoluntarySwitches, kTotal, kCount, false, "waits"},
    Counter{counter::kInvoluntarySwitches, kTotal, kCount, false, "preemptions"},
    Counter{counter::kThreads, kGauge, kCount, false, "threads"},
    Counter{counter::kStopped, kGauge, kCount, false, "stopped by a signal"},
    Counter{counter::kOomScore, kGauge, kCount, false, "OOM score"},
    Counter{counter::kMemoryLimit, kGauge, kBytes, false, "memory limit of the control group"},
    Counter{counter::kAddressSpace, kGauge, kBytes, false, "address space"},
    Counter{counter::kAddressLimit, kGauge, kBytes, false, "address space limit"},
    Counter{counter::kCores, kGauge, kCount, false, "cores that it may run on"},
    Counter{counter::kCpuQuota, kGauge, kMillicores, false, "CPU quota of the control group"},
    Counter{counter::kCpuThrottled, kTotal, kNanoseconds, false, "held back by the CPU quota"},
    Counter{counter::kTensorBytes, kGauge, kBytes, false, "memory of tensors"},
    Counter{counter::kTensorBytesBy[0], kGauge, kBytes, false,
            "memory of tensors made outside of a step's phases"},
    Counter{counter::kTensorBytesBy[1], kGauge, kBytes, false, "memory of input tensors"},
    Counter{counter::kTensorBytesBy[2], kGauge, kBytes, false,
            "memory of tensors made in the forward pass"},
    Counter{counter::kTensorBytesBy[3], kGauge, kBytes, false,
            "memory of tensors made in the backward pass"},
    Counter{counter::kTensorBytesBy[4], kGauge, kBytes, false,
            "memory of tensors made by the optimizer"},
    Counter{counter::kTensorAllocations, kTotal, kCount, false, "allocations of tensors"},
    Counter{counter::kTensorAllocatedBytes, kTotal, kBytes, false, "memory allocated for tensors"},
    Counter{counter::kDeviceAllocatedBytes, kGauge, kBytes, false, "device memory of tensors"},
    Counter{counter::kDeviceBytesBy[0], kGauge, kBytes, false,
            "device memory made outside of a step's phases"},
    Counter{counter::kDeviceBytesBy[1], kGauge, kBytes, false, "device memory of input"},
    Counter{counter::kDeviceBytesBy[2], kGauge, kBytes, false,
            "device memory made in the forward pass"},
    Counter{counter::kDeviceBytesBy[3], kGauge, kBytes, false,
            "device memory made in the backward pass"},
    Counter{counter::kDeviceBytesBy[4], kGauge, kBytes, false,
            "device memory made by the optimizer"},
    Counter{counter::kDeviceReservedBytes, kGauge, kBytes, false, "device memory of the allocator"},
    Counter{counter::kPsiCpuSome, kTotal, kMicroseconds, true, "some task waited for a CPU"},
    Counter{counter::kPsiMemorySome, kTotal, kMicroseconds, true, "some task waited for memory"},
    Counter{counter::kPsiMemoryFull, kTotal, kMicroseconds, true, "all tasks waited for memory"},
    Counter{counter::kPsiIoSome, kTotal, kMicroseconds, true, "some task waited for storage"},
    Counter{counter::kPsiIoFull, kTotal, kMicroseconds, true, "all tasks waited for storage"},
    Counter{counter::kCpuBusy, kTotal, kNanoseconds, true, "CPU time of all programs"},
    Counter{counter::kCpuStolen, kTotal, kNanoseconds, true, "CPU time taken by the hypervisor"},
    Counter{counter::kNetReceived, kTotal, kBytes, true, "received from the network"},
    Counter{counter::kNetSent, kTotal, kBytes, true, "sent to the network"},
    Counter{counter::kMemoryAvailable, kGauge, kBytes, true, "memory available"},
    Counter{counter::kGpuUtilization, kGauge, kPercent, true, "utilisation"},
    Counter{counter::kGpuMemoryUtilization, kGauge, kPercent, true, "memory utilisation"},
    Counter{counter::kGpuMemoryUsed, kGauge, kBytes, true, "memory used"},
    Counter{counter::kGpuPower, kGauge, kMilliwatts, true, "power"},
    Counter{counter::kGpuSmClock, kGauge, kMegahertz, true, "SM clock"},
    Counter{counter::kGpuMemoryClock, kGauge, kMegahertz, true, "memory clock"},
    Counter{counter::kGpuTemperature, kGauge, kCelsius, true, "temperature"},
};

}  // namespace

std::span<const Counter> known_counters() { return kCounters; }

const Counter* find_counter(std::string_view name) {
  const auto it = std::find_if(kCounters.begin(), kCounters.end(),
                               [name](const Counter& c) { return name == c.name; });
  return it == kCounters.end() ? nullptr : &*it;
}

}  // namespace stepscope

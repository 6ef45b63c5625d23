// The header-free layer: the memory of tensors. libc10's allocators report every allocation and
// free, profiled or not, through symbols that a library earlier in the search order can interpose.
//
// An allocation may come so early (in a library's constructor) that libc10's own reporter cannot be
// found yet. Then it is counted but not passed on to that reporter.
#include <cstdint>

#include "profiler/preload/original.h"
#include "profiler/session/tensor_memory.h"
#include "stepscope/c_api.h"

// c10::ProfiledCPUMemoryReporter::New(void* pointer, size_t bytes)
#define STEPSCOPE_MEMORY_NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
// c10::ProfiledCPUMemoryReporter::Delete(void* pointer)
#define STEPSCOPE_MEMORY_DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"

namespace {

using New = void (*)(void* self, void* pointer, std::size_t bytes);
using Delete = void (*)(void* self, void* pointer);

// c10::Device: two bytes, passed in a register. libtorch keeps the numbers of its types stable.
struct Device {
  std::int8_t type;
  std::int8_t index;
};
constexpr std::int8_t kCuda = 1;
using Report = void (*)(void* pointer, std::int64_t bytes, std::int64_t allocated,
                        std::int64_t reserved, Device device);

void report_memory(void* original, void* pointer, std::int64_t bytes, std::int64_t allocated,
                   std::int64_t reserved, Device device) {
  if (device.type == kCuda) {
    stepscope::note_device_memory(device.index, allocated, reserved);
    stepscope::note_device_block(device.index, pointer, bytes);
  }
  if (const auto report = reinterpret_cast<Report>(original)) {
    report(pointer, bytes, allocated, reserved, device);
  }
}

constinit stepscope::Original original_new(STEPSCOPE_MEMORY_NEW);
constinit stepscope::Original original_delete(STEPSCOPE_MEMORY_DELETE);

// Not inlined, so that the usual way through the two functions below saves no registers.
[[gnu::noinline]] void report_new(void* self, void* pointer, std::size_t bytes,
                                  const void* caller) {
  stepscope::note_tensor_memory(pointer, bytes);
  if (const auto report = reinterpret_cast<New>(original_new.find(caller))) {
    report(self, pointer, bytes);
  }
}

[[gnu::noinline]] void report_delete(void* self, void* pointer, const void* caller) {
  stepscope::note_tensor_memory_freed(pointer);
  if (const auto report = reinterpret_cast<Delete>(original_delete.find(caller))) {
    report(self, pointer);
  }
}

}  // namespace

extern "C" STEPSCOPE_API void stepscope_memory_new(void*, void*,
                                                   std::size_t) __asm__(STEPSCOPE_MEMORY_NEW);
extern "C" STEPSCOPE_HOT void stepscope_memory_new(void* self, void* pointer, std::size_t bytes) {
  const void* const caller = __builtin_return_address(0);
  const auto report = reinterpret_cast<New>(original_new.known(caller));
  if (report != nullptr && stepscope::note_small_tensor(pointer, bytes)) [[likely]]
    return report(self, pointer, bytes);
  report_new(self, pointer, bytes, caller);
}

extern "C" STEPSCOPE_API void stepscope_memory_delete(void*,
                                                      void*) __asm__(STEPSCOPE_MEMORY_DELETE);
extern "C" STEPSCOPE_HOT void stepscope_memory_delete(void* self, void* pointer) {
  const void* const caller = __builtin_return_address(0);
  const auto report = reinterpret_cast<Delete>(original_delete.known(caller));
  if (report != nullptr && stepscope::note_freed_unheld(pointer)) [[likely]]
    return report(self, pointer);
  report_delete(self, pointer, caller);
}

// c10::reportMemoryUsageToProfiler(void* pointer, int64_t bytes, allocated, reserved, c10::Device):
// called by the devices' allocators. `allocated` and `reserved` were int64_t before libtorch 2.0,
// size_t since.
#define STEPSCOPE_MEMORY_REPORT_1 "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define STEPSCOPE_MEMORY_REPORT_2 "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

extern "C" STEPSCOPE_API void stepscope_memory_report_1(void*, std::int64_t, std::int64_t,
                                                        std::int64_t,
                                                        Device) __asm__(STEPSCOPE_MEMORY_REPORT_1);
extern "C" void stepscope_memory_report_1(void* pointer, std::int64_t bytes, std::int64_t allocated,
                                          std::int64_t reserved, Device device) {
  static constinit stepscope::Original original(STEPSCOPE_MEMORY_REPORT_1);
  report_memory(original.find(__builtin_return_address(0)), pointer, bytes, allocated, reserved,
                device);
}

extern "C" STEPSCOPE_API void stepscope_memory_report_2(void*, std::int64_t, std::int64_t,
                                                        std::int64_t,
                                                        Device) __asm__(STEPSCOPE_MEMORY_REPORT_2);
extern "C" void stepscope_memory_report_2(void* pointer, std::int64_t bytes, std::int64_t allocated,
                                          std::int64_t reserved, Device device) {
  static constinit stepscope::Original original(STEPSCOPE_MEMORY_REPORT_2);
  report_memory(original.find(__builtin_return_address(0)), pointer, bytes, allocated, reserved,
                device);
}

#include "profiler/cupti/cuda_devices.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stepscope {
namespace {

// CUdevice_attribute, of cuda.h.
enum Attribute : int {
  kWarpThreads = 10,
  kMultiprocessors = 16,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
};

// The functions used, of the driver library that the program has loaded. All return a CUresult; 0
// is success.
struct Driver {
  int (*get_count)(int* count);
  int (*get)(int* device, int number);
  int (*get_name)(char* name, int bytes, int device);
  int (*total_memory)(std::size_t* bytes, int device);
  int (*get_uuid)(std::uint8_t* uuid, int device);
  int (*get_attribute)(int* value, int attribute, int device);

  bool find() {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return false;
    const auto found = [library](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    const bool all =
        found(get_count, "cuDeviceGetCount") && found(get, "cuDeviceGet") &&
        found(get_name, "cuDeviceGetName") && found(total_memory, "cuDeviceTotalMem_v2") &&
        found(get_uuid, "cuDeviceGetUuid") && found(get_attribute, "cuDeviceGetAttribute");
    dlclose(library);  // the program's own handle keeps it loaded
    return all;
  }
};

// The value of an attribute; 0 if the driver does not know it.
std::uint32_t ask(const Driver& driver, int device, Attribute attribute) {
  int value = 0;
  const bool known = driver.get_attribute(&value, attribute, device) == 0 && value > 0;
  return known ? static_cast<std::uint32_t>(value) : 0;
}

CudaDevice describe(const Driver& driver, int number, int device) {
  CudaDevice described;
  std::array<char, 256> name{};
  if (driver.get_name(name.data(), static_cast<int>(name.size()) - 1, device) == 0) {
    described.name = name.data();
  }
  DeviceRecord& record = described.record;
  std::size_t bytes = 0;
  if (driver.total_memory(&bytes, device) == 0) record.memory_bytes = bytes;
  driver.get_uuid(&record.uuid[0], device);
  record.threads_per_warp = ask(driver, device, kWarpThreads);
  if (record.threads_per_warp > 0) {
    record.max_warps_per_multiprocessor =
        ask(driver, device, kMaxThreadsPerMultiprocessor) / record.threads_per_warp;
  }
  record.multiprocessors = ask(driver, device, kMultiprocessors);
  record.shared_bytes_per_multiprocessor = ask(driver, device, kSharedBytesPerMultiprocessor);
  record.registers_per_multiprocessor = ask(driver, device, kRegistersPerMultiprocessor);
  record.compute_major = ask(driver, device, kComputeMajor);
  record.compute_minor = ask(driver, device, kComputeMinor);
  record.kind = static_cast<std::uint32_t>(ActivityKind::kDevice);
  record.number = static_cast<std::uint32_t>(number);
  return described;
}

}  // namespace

std::vector<CudaDevice> read_cuda_devices() {
  std::vector<CudaDevice> devices;
  Driver driver{};
  int count = 0;
  if (!driver.find() || driver.get_count(&count) != 0) return devices;
  for (int number = 0; number < count; ++number) {
    int device = 0;
    if (driver.get(&device, number) == 0) devices.push_back(describe(driver, number, device));
  }
  return devices;
}

}  // namespace stepscope

#include "profiler/recorder/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

// nvml.h. All functions return an nvmlReturn_t; 0 is success.
using NvmlDevice = struct NvmlDeviceTag*;
struct NvmlUtilization {
  unsigned gpu, memory;  // percent
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
enum NvmlClock : unsigned { kSmClock = 1, kMemoryClock = 2 };
constexpr unsigned kGpuTemperature = 0;
constexpr int kSuccess = 0;

constexpr std::uint32_t kMaxGpus = 64;

}  // namespace

struct Nvml::Impl {
  ~Impl() {
    if (initialised) shutdown();
    if (library != nullptr) dlclose(library);
  }

  template <typename Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  // Every NVML since 2013 has these functions; without them, the library is not NVML.
  bool find_required() {
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(count, "nvmlDeviceGetCount_v2") && find(handle, "nvmlDeviceGetHandleByIndex_v2");
  }

  void find_optional() {
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
  }

  void find_gpus() {
    unsigned gpus = 0;
    if (count(&gpus) != kSuccess) return;
    for (unsigned i = 0; i < std::min(gpus, kMaxGpus); ++i) {
      NvmlDevice device = nullptr;
      // Null stands for a device that may not be used, so that the others keep their numbers.
      devices.push_back(handle(i, &device) == kSuccess ? device : nullptr);
    }
  }

  void* library = nullptr;
  bool initialised = false;
  std::vector<NvmlDevice> devices;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*clock)(NvmlDevice, NvmlClock, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
};

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::open(const char* library) {
  auto impl = std::make_unique<Impl>();
  impl->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (impl->library == nullptr || !impl->find_required()) return nullptr;
  impl->initialised = impl->init() == kSuccess;
  if (!impl->initialised) return nullptr;
  impl->find_optional();
  impl->find_gpus();
  if (impl->devices.empty()) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(impl)));
}

std::uint32_t Nvml::gpu_count() const { return static_cast<std::uint32_t>(impl_->devices.size()); }

GpuReading Nvml::read(std::uint32_t gpu) const {
  GpuReading reading;
  const NvmlDevice device = gpu < impl_->devices.size() ? impl_->devices[gpu] : nullptr;
  if (device == nullptr) return reading;
  NvmlUtilization use{};
  if (impl_->utilization != nullptr && impl_->utilization(device, &use) == kSuccess) {
    reading.utilization_percent = use.gpu;
    reading.memory_utilization_percent = use.memory;
  }
  NvmlMemory memory{};
  if (impl_->memory != nullptr && impl_->memory(device, &memory) == kSuccess)
    reading.memory_used_bytes = static_cast<std::int64_t>(memory.used);
  unsigned value = 0;
  if (impl_->power != nullptr && impl_->power(device, &value) == kSuccess)
    reading.power_milliwatts = value;
  if (impl_->clock != nullptr && impl_->clock(device, kSmClock, &value) == kSuccess)
    reading.sm_clock_mhz = value;
  if (impl_->clock != nullptr && impl_->clock(device, kMemoryClock, &value) == kSuccess)
    reading.memory_clock_mhz = value;
  if (impl_->temperature != nullptr &&
      impl_->temperature(device, kGpuTemperature, &value) == kSuccess)
    reading.temperature_celsius = value;
  return reading;
}

}  // namespace stepscope

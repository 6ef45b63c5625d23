// Stands in for libnvidia-ml.so.1: two GPUs, of which the second tells less, as real ones do. What
// it shall do is in the environment of the test:
//   FAKE_NVML=broken   the driver does not answer to nvmlInit
//   FAKE_NVML=slow     it takes seconds to
//   FAKE_NVML=lost     the GPUs have fallen off the bus since
// The layouts are those of nvml.h, written down here apart from those in profiler/recorder/nvml.cc.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kUnknown = 999;
constexpr int kGpuIsLost = 15;

std::atomic<int> open_count{0};
int gpus[2];

bool asked_for(const char* what) {
  const char* const mode = std::getenv("FAKE_NVML");
  return mode != nullptr && std::strcmp(mode, what) == 0;
}

int check(void* device, bool second_tells) {
  if (open_count == 0) return kUnknown;  // used before nvmlInit or after nvmlShutdown
  if (asked_for("lost")) return kGpuIsLost;
  return device == &gpus[1] && !second_tells ? kNotSupported : kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (asked_for("broken")) return kUnknown;
  if (asked_for("slow")) sleep(30);
  ++open_count;
  return kSuccess;
}

int fake_nvml_is_ready() { return open_count; }

int nvmlShutdown() {
  --open_count;
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpus[index];
  return kSuccess;
}

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
int nvmlDeviceGetUtilizationRates(void* device, Utilization* use) {
  const int result = check(device, false);
  if (result == kSuccess) *use = {97, 41};
  return result;
}

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const int result = check(device, true);
  const bool second = device == &gpus[1];
  if (result == kSuccess)
    *memory = {80'000'000'000ULL, 1, second ? 5'000'000ULL : 60'000'000'000ULL};
  return result;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 412'345;
  return check(device, false);
}

int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  *mhz = type == 1 ? 1'755 : type == 2 ? 2'619 : 0;
  return check(device, false);
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 64 : 0;
  return check(device, true);
}

}  // extern "C"

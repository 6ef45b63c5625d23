// NVIDIA's management library (NVML), as far as counters need it. Found at run time, never linked.
//
// The declarations are our own, of functions whose names and layouts NVIDIA keeps stable (the
// suffix _v2 marks the second layout). Source: NVML API Reference Guide, "Device Queries", and
// nvml.h of the CUDA toolkit 12.
//
// Thread safety: that of NVML: several threads may call it at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace stepscope {

// The counters of one GPU, as far as available.
struct GpuReading {
  std::optional<std::int64_t> utilization_percent;         // share of time a kernel ran
  std::optional<std::int64_t> memory_utilization_percent;  // share of time it was accessed
  std::optional<std::int64_t> memory_used_bytes;           // by all processes
  std::optional<std::int64_t> power_milliwatts;
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> temperature_celsius;
};

class Nvml {
 public:
  // Returns null without a library, a driver or a GPU. `library`: for dlopen(). May take seconds,
  // while the driver wakes the GPUs.
  static std::unique_ptr<Nvml> open(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::uint32_t gpu_count() const;
  // `gpu`: less than gpu_count(), in the driver's order. A GPU that fell off the bus has no values.
  [[nodiscard]] GpuReading read(std::uint32_t gpu) const;

 private:
  struct Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope

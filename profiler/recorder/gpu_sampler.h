// Samples the GPUs of the machine from a thread of its own: the first question may take seconds,
// while the driver wakes up, and none of them may hold up the draining of rings.
//
// Thread safety: one owner; its thread is its own affair. Invariants: never fails; a driver that
// does not answer is left alone, also at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/recorder/nvml.h"
#include "profiler/ring/clock.h"

namespace stepscope {

struct GpuSample {
  std::uint32_t gpu = 0;  // the driver's number
  Ticks at;
  GpuReading reading;
};

class GpuSampler {
 public:
  // `library`: NVML, for dlopen(). Without it, or without a GPU, there are no samples.
  GpuSampler(std::string library, std::chrono::nanoseconds period);
  // Waits a moment for its thread, at most kPatience.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  // Those since the last call, by time. When nobody has asked for long, only the latest, at most
  // kMostKept.
  std::vector<GpuSample> take();

  static constexpr std::size_t kMostKept = 4096;
  static constexpr std::chrono::milliseconds kPatience{200};

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const std::string& library,
                  std::chrono::nanoseconds period);

  std::shared_ptr<Shared> shared_;  // the thread may outlive the sampler
};

}  // namespace stepscope

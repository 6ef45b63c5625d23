// Reads the counters of the machine's GPUs on a separate thread: the first query may take seconds
// while the driver wakes up, and no query may delay draining the rings.
//
// Thread safety: one owner; the thread is internal. Invariants: never fails; never waits for a
// driver that does not answer, not even in the destructor.
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
  // Waits for its thread, at most kPatience.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  // The readings since the last call, in time order. After a long time without a call, only the
  // latest kMaxKept at most.
  std::vector<GpuSample> take();

  static constexpr std::size_t kMaxKept = 4096;
  static constexpr std::chrono::milliseconds kPatience{200};

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const std::string& library,
                  std::chrono::nanoseconds period);

  std::shared_ptr<Shared> shared_;  // the thread may outlive the sampler
};

}  // namespace stepscope

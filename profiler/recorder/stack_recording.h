// What the sampler found, as rows of the store.
#pragma once

#include <sys/types.h>

#include "profiler/channel/owned_fd.h"
#include "profiler/recorder/stack_sampler.h"
#include "profiler/recorder/thread_watch.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/region_format.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// Meta keys of the sampling, set by finish(). The rate is times a second, the rest as in
// SamplerFacts.
inline constexpr const char* kStackRateMeta = "lines_rate";
inline constexpr const char* kStacksTornMeta = "lines_torn";
inline constexpr const char* kStackCpuMeta = "lines_cpu_ns";
inline constexpr const char* kStackLateP50Meta = "lines_late_p50_ns";
inline constexpr const char* kStackLateP99Meta = "lines_late_p99_ns";
inline constexpr const char* kStackNoteMeta = "lines_note";  // why some process has none

// Thread safety: none; one recorder's.
class StackRecording {
 public:
  // As of StackSampler.
  explicit StackRecording(int rate) : rate_(rate), sampler_(rate) {}

  void add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region);
  void forget(pid_t pid) { sampler_.forget(pid); }
  // Writes what was found since the last call. Processes that the program started and that
  // `threads` has found are sampled from now on.
  Status store(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);
  // The same for the last time, and how the sampling went.
  Status finish(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);

 private:
  Status write(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);

  const int rate_;
  StackSampler sampler_;
};

}  // namespace stepscope

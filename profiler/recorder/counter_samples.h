// Writes counters to a store: those of one recorded process, of the machine, and of its GPUs.
#pragma once

#include <sys/types.h>

#include <vector>

#include "profiler/recorder/gpu_sampler.h"
#include "profiler/recorder/memory_samples.h"
#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/ring/clock.h"
#include "store/events.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// The counters of one process: CPU, memory, disk, and the memory of its tensors. Thread safety:
// none.
class ProcessCounters {
 public:
  explicit ProcessCounters(pid_t pid) : sampler_(pid) {}
  // Reads the counters now, at time `at`, and stores them. Stores nothing once the process is gone.
  Status store(TraceWriter& writer, const ProcessDrain& process, SessionTime at);

 private:
  ProcessSampler sampler_;
  MemorySampler memory_;
};

Status store_machine_samples(TraceWriter& writer, const MachineSampler& machine, SessionTime at);
Status store_gpu_samples(TraceWriter& writer, const std::vector<GpuSample>& gpus,
                         const ClockMap& clock);

}  // namespace stepscope

#include "profiler/recorder/counter_samples.h"

#include <cstdint>
#include <optional>

#include "store/counters.h"

namespace stepscope {
namespace {

// `gpu` is Sample::gpu.
Status store_readings(TraceWriter& writer, ProcessId process, const std::vector<Reading>& readings,
                      SessionTime at, std::int64_t gpu = -1) {
  std::vector<Sample> samples;
  samples.reserve(readings.size());
  for (const auto& [name, value] : readings) {
    samples.push_back({process, writer.intern(name), at, value, gpu});
  }
  return samples.empty() ? Status() : writer.add(samples);
}

}  // namespace

Status ProcessCounters::store(TraceWriter& writer, const ProcessDrain& process, SessionTime at) {
  const ProcessId id = process.process();
  Status status = store_readings(writer, id, sampler_.read(), at);
  if (!status.ok()) return status;
  status = store_readings(writer, id, memory_.of_tensors(process.tensor_memory()), at);
  for (std::size_t i = 0; status.ok() && i < kMaxDevices; ++i) {
    status = store_readings(writer, id, memory_.of_device(process.device_memory(i), i), at,
                            static_cast<std::int64_t>(i));
  }
  return status;
}

Status store_machine_samples(TraceWriter& writer, const MachineSampler& machine, SessionTime at) {
  return store_readings(writer, ProcessId::kNone, machine.read(), at);
}

Status store_gpu_samples(TraceWriter& writer, const std::vector<GpuSample>& gpus,
                         const ClockMap& clock) {
  std::vector<Sample> samples;
  for (const GpuSample& gpu : gpus) {
    const auto add = [&](const char* name, const std::optional<std::int64_t>& value) {
      if (!value) return;
      samples.push_back({ProcessId::kNone, writer.intern(name), clock.to_session(gpu.at), *value,
                         std::int64_t{gpu.gpu}});
    };
    const GpuReading& reading = gpu.reading;
    add(counter::kGpuUtilization, reading.utilization_percent);
    add(counter::kGpuMemoryUtilization, reading.memory_utilization_percent);
    add(counter::kGpuMemoryUsed, reading.memory_used_bytes);
    add(counter::kGpuPower, reading.power_milliwatts);
    add(counter::kGpuSmClock, reading.sm_clock_mhz);
    add(counter::kGpuMemoryClock, reading.memory_clock_mhz);
    add(counter::kGpuTemperature, reading.temperature_celsius);
  }
  return samples.empty() ? Status() : writer.add(samples);
}

}  // namespace stepscope

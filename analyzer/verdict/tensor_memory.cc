#include "analyzer/verdict/tensor_memory.h"

#include "store/counters.h"

namespace stepscope {
namespace {

HeldTensors held_at(const Counters& counters, ProcessId process, SessionTime time) {
  HeldTensors memory;
  memory.at = time;
  for (std::size_t i = 0; i < memory.by.size(); ++i) {
    const CounterSeries* series = counters.find(process, counter::kTensorBytesBy[i]);
    // Before its first reading it held nothing: there are no readings until it holds something.
    if (series == nullptr || time < series->first().at) continue;
    memory.by[i] = series->value_at(time);
    memory.bytes += memory.by[i];
  }
  return memory;
}

}  // namespace

std::optional<HeldTensorsUse> measure_tensor_memory(const Counters& counters, ProcessId process) {
  const CounterSeries* all = counters.find(process, counter::kTensorBytes);
  if (all == nullptr) return std::nullopt;
  const HeldTensorsUse use{held_at(counters, process, all->peak().at),
                           held_at(counters, process, all->last_reading().at)};
  if (use.peak.bytes <= 0) return std::nullopt;
  return use;
}

const char* owner_name(MemoryOwner owner) {
  switch (owner) {
    case MemoryOwner::kOther:
      return "other";
    case MemoryOwner::kInput:
      return "input";
    case MemoryOwner::kForward:
      return "forward";
    case MemoryOwner::kBackward:
      return "backward";
    case MemoryOwner::kOptimizer:
      return "optimizer";
  }
  return "other";
}

}  // namespace stepscope

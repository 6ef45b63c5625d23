#include "analyzer/import/memory_counters.h"

#include <vector>

#include "store/counters.h"

namespace stepscope {
namespace {

constexpr Duration kInterval{1'000'000};

}  // namespace

Status MemoryCounters::take(Counter& counter, const char* name, std::int64_t gpu, SessionTime at,
                            std::int64_t value) {
  if (counter.name == StringId::kNone) counter.name = run_.intern(name);
  Status status;
  if (counter.highest && (at - counter.since >= kInterval || at < counter.since)) {
    status = run_.add(*counter.highest);
    counter.highest.reset();
  }
  if (!counter.highest) counter.since = at;
  if (!counter.highest || value > counter.highest->value) {
    counter.highest = Sample{process_, counter.name, at, value, gpu};
  }
  return status;
}

Status MemoryCounters::take(const MemoryReading& reading) {
  if (reading.on_host) {
    return take(host_, counter::kTensorBytes, -1, reading.at, reading.allocated);
  }
  const Status status = take(allocated_[reading.device], counter::kDeviceAllocatedBytes,
                             reading.device, reading.at, reading.allocated);
  if (!status.ok() || reading.reserved < 0) return status;
  return take(reserved_[reading.device], counter::kDeviceReservedBytes, reading.device, reading.at,
              reading.reserved);
}

Status MemoryCounters::end() {
  std::vector<Counter*> all = {&host_};
  for (auto* devices : {&allocated_, &reserved_}) {
    for (auto& [number, counter] : *devices) all.push_back(&counter);
  }
  for (Counter* counter : all) {
    if (!counter->highest) continue;
    if (Status status = run_.add(*counter->highest); !status.ok()) return status;
    counter->highest.reset();
  }
  return {};
}

}  // namespace stepscope

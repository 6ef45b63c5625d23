#include "analyzer/import/memory_counters.h"

#include "store/counters.h"

namespace stepscope {
namespace {

constexpr Duration kInterval{1'000'000};

}  // namespace

Status MemoryCounters::take(Counter& counter, const char* name, std::int64_t device, SessionTime at,
                            std::int64_t value) {
  if (counter.name == StringId::kNone) counter.name = run_.intern(name);
  counter.held[device] = value;
  std::int64_t sum = 0;
  for (const auto& [number, bytes] : counter.held) sum += bytes;
  Status status;
  if (counter.highest && (at - counter.since >= kInterval || at < counter.since)) {
    status = run_.add(*counter.highest);
    counter.highest.reset();
  }
  if (!counter.highest) counter.since = at;
  if (!counter.highest || sum > counter.highest->value) {
    counter.highest = Sample{process_, counter.name, at, sum};
  }
  return status;
}

Status MemoryCounters::take(const MemoryReading& reading) {
  if (reading.on_host) {
    return take(host_, counter::kTensorBytes, 0, reading.at, reading.allocated);
  }
  const Status status = take(allocated_, counter::kDeviceAllocatedBytes, reading.device, reading.at,
                             reading.allocated);
  if (!status.ok() || reading.reserved < 0) return status;
  return take(reserved_, counter::kDeviceReservedBytes, reading.device, reading.at,
              reading.reserved);
}

Status MemoryCounters::end() {
  for (Counter* counter : {&host_, &allocated_, &reserved_}) {
    if (!counter->highest) continue;
    if (Status status = run_.add(*counter->highest); !status.ok()) return status;
    counter->highest.reset();
  }
  return {};
}

}  // namespace stepscope

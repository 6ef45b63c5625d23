// Memory of tensors over time, from the allocator's events. A trace has one for each allocation; a
// counter needs no more than its peaks, so of each millisecond the highest reading is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/import/run_builder.h"
#include "store/events.h"
#include "store/status.h"

namespace stepscope {

// The memory held after an allocation or a release, as the allocator reports it.
struct MemoryReading {
  bool on_host = false;
  std::int64_t device = 0;  // its number, unless it is the host
  SessionTime at;
  std::int64_t allocated = 0;  // by tensors
  std::int64_t reserved = -1;  // by the allocator; -1: not known
};

class MemoryCounters {
 public:
  MemoryCounters(RunBuilder& run, ProcessId process) : run_(run), process_(process) {}

  Status take(const MemoryReading& reading);
  Status end();  // emits the readings still held back

 private:
  struct Counter {
    StringId name = StringId::kNone;
    std::optional<Sample> highest;  // since `since`
    SessionTime since;
  };

  Status take(Counter& counter, const char* name, std::int64_t gpu, SessionTime at,
              std::int64_t value);

  RunBuilder& run_;
  const ProcessId process_;
  Counter host_;
  std::map<std::int64_t, Counter> allocated_, reserved_;  // by device
};

}  // namespace stepscope

// In which steps the ops of a process were recorded, from the marks that the recorder left where it
// began and stopped recording them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/recording.h"
#include "store/events.h"

namespace stepscope {

enum class OpsRecorded : std::uint8_t {
  kUnknown,  // the process has no marks: its ops were recorded throughout, or in an older way
  kNone,
  kPart,  // in a part of the step
  kAll,
};

class OpCoverage {
 public:
  // `switches`: RecordedRun::op_switches.
  explicit OpCoverage(const RecordedRun& recording);

  // A switch shortly after the beginning of the step, or shortly before its end, counts as one at
  // the boundary: the profiler switches where a step begins, and needs some time for it.
  [[nodiscard]] OpsRecorded of(ProcessId process, TimeRange step) const;
  // Whether any ops of the process were left out on purpose.
  [[nodiscard]] bool in_parts(ProcessId process) const;

 private:
  std::map<ProcessId, std::vector<TimeRange>> recorded_;  // in order
};

}  // namespace stepscope

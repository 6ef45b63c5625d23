// What the system had set against the memory of a process, as it was last sampled: said of one that
// died of it.
#pragma once

#include <optional>
#include <string>

#include "analyzer/samples/counters.h"
#include "store/events.h"

namespace stepscope {

// Nothing where a figure was not sampled, or there is no such limit.
struct MemoryLimits {
  std::optional<double> group_bytes;      // what its control group may hold
  std::optional<double> held_bytes;       // the most that it held
  std::optional<double> address_bytes;    // the most that its address space was
  std::optional<double> address_limit;    // that it may have (ulimit -v)
  std::optional<double> available_bytes;  // of the machine
  std::optional<double> oom_score;        // 0 to 1,000 (/proc/PID/oom_score)

  // Whether it once came within a fifth of a limit: what failed for lack of room was never held.
  [[nodiscard]] bool reached() const;
};

MemoryLimits read_memory_limits(const Counters& counters, ProcessId process);

// "Its control group may hold 64.0 MB; …." A sentence, or "".
std::string limits_sentence(const MemoryLimits& limits);

}  // namespace stepscope

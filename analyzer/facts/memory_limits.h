// The memory limits of a process and how close it came to them, as last sampled.
#pragma once

#include <optional>

namespace stepscope {

// A field is empty where it was not sampled or no such limit exists.
struct MemoryLimits {
  std::optional<double> group_bytes;      // the limit of its control group
  std::optional<double> held_bytes;       // its peak resident memory
  std::optional<double> held_rise;        // the most that held_bytes grew between two readings
  std::optional<double> address_bytes;    // the peak of its address space
  std::optional<double> address_rise;     // the most that it grew between two readings
  std::optional<double> address_limit;    // the limit on it (ulimit -v)
  std::optional<double> available_bytes;  // on the machine
  std::optional<double> oom_score;        // 0 to 1,000 (/proc/PID/oom_score)

  // Whether it ever came within a fifth of a limit, or so near that it would have passed the limit
  // by growing once more as fast as it ever did. (The allocation that failed never counted.)
  [[nodiscard]] bool reached() const;
};

}  // namespace stepscope

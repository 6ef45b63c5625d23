// Counters of a process and of the machine, from /proc, which the recorder reads in addition to the
// events. Names and units are those of the store's samples (docs/schema.md).
//
// Thread safety: none; used by one recorder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/channel/listener.h"
#include "profiler/recorder/cpu_group.h"

namespace stepscope {

// A counter and its current value.
using Reading = std::pair<const char*, std::int64_t>;

// Keeps the most frequently read files open, so that each reading is one pread().
class ProcessSampler {
 public:
  explicit ProcessSampler(pid_t pid);
  // Returns nothing once the process is gone; leaves out unreadable counters.
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  void add_limits(std::string_view stat, std::vector<Reading>& readings) const;

  void add_cores(std::vector<Reading>& readings) const;

  pid_t pid_;
  std::string folder_;  // /proc/PID
  OwnedFd stat_, io_, status_;
  std::optional<std::int64_t> group_limit_;  // when the process arrived
  CpuGroup cpu_group_;
};

class MachineSampler {
 public:
  MachineSampler();
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  OwnedFd psi_cpu_, psi_memory_, psi_io_, net_, meminfo_, stat_;
};

// The memory limit of the process's cgroup or an enclosing one, in bytes; nothing: no limit.
std::optional<std::int64_t> memory_group_limit(pid_t pid);

// The number of OOM kills in the cgroup of a process; -1 if unknown. Distinguishes a SIGKILL by the
// OOM killer from one by a person.
class OomCounter {
 public:
  explicit OomCounter(pid_t pid);
  [[nodiscard]] std::int64_t read() const;

 private:
  std::string path_;
};

}  // namespace stepscope

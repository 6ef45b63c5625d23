// Counters of a process and of the machine, from /proc: what the recorder samples beside the
// events. Names and units are those of the store's samples (docs/schema.md).
//
// Thread safety: none; one recorder's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/channel/listener.h"

namespace stepscope {

// A name and its value now.
using Reading = std::pair<const char*, std::int64_t>;

// Keeps the files that it reads most open, so that they are a pread() each.
class ProcessSampler {
 public:
  explicit ProcessSampler(pid_t pid);
  // Nothing once the process is gone; what may not be read is left out.
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  void add_limits(std::string_view stat, std::vector<Reading>& readings) const;

  std::string folder_;  // /proc/PID
  OwnedFd stat_, io_, status_;
  std::optional<std::int64_t> group_limit_;  // when it came
};

class MachineSampler {
 public:
  MachineSampler();
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  OwnedFd psi_cpu_, psi_memory_, psi_io_, net_, meminfo_;
};

// The bytes that the process's memory cgroup, or one around it, may hold; nothing: no limit.
std::optional<std::int64_t> memory_group_limit(pid_t pid);

// How often the kernel has killed for memory in the cgroup that a process is in; -1 where that
// cannot be told. Tells a SIGKILL by the OOM killer from one by a person.
class OomCounter {
 public:
  explicit OomCounter(pid_t pid);
  [[nodiscard]] std::int64_t read() const;

 private:
  std::string path_;
};

}  // namespace stepscope

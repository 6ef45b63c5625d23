// Counters of a process and of the machine, from /proc: what the recorder samples beside the
// events. Names and units are those of the store's samples (docs/schema.md).
//
// Thread safety: none; one recorder's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/channel/listener.h"

namespace stepscope {

// A name and its value now.
using Reading = std::pair<const char*, std::int64_t>;

// Keeps its files open, so that a sample is a few pread() calls.
class ProcessSampler {
 public:
  explicit ProcessSampler(pid_t pid);
  // Nothing once the process is gone; what may not be read is left out.
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  OwnedFd stat_, io_, status_;
};

class MachineSampler {
 public:
  MachineSampler();
  [[nodiscard]] std::vector<Reading> read() const;

 private:
  OwnedFd psi_cpu_, psi_memory_, psi_io_, net_, meminfo_;
};

// A file of `pid`'s memory cgroup, by its name in version 2 and in version 1; "" where there is none.
std::string memory_group_file(pid_t pid, const std::string& in_v2, const std::string& in_v1);

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

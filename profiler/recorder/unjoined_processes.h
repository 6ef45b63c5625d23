// Finds the processes of a program that use libtorch without libstepscope, so that they cannot join
// the recording: their environment was cleared (`env -i`, `sudo`), or the loader ignored LD_PRELOAD
// (set-user-ID).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stepscope {

// Limits: descendants of the program, as long as their parents live; kMaxProcesses of them at a
// time. A process that ends within a second may be missed.
//
// Thread safety: none; used by one recorder. Invariants: a process is found once. Its list of
// mapped files is read less and less often, because that takes 1 ms for a process with libtorch.
class UnjoinedProcesses {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMaxProcesses = 256;
  static constexpr std::chrono::seconds kPeriod{1};
  static constexpr std::chrono::seconds kLongestPeriod{64};  // of one process

  // `proc`: the folder /proc.
  explicit UnjoinedProcesses(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Searches `program` and its descendants if kPeriod has passed since the last search. Returns the
  // processes found for the first time. `has_joined`: whether a process is recorded already.
  std::vector<pid_t> search(pid_t program, const std::function<bool(pid_t)>& has_joined, Time now);

 private:
  struct Looks {
    Time next;
    std::chrono::seconds period = kPeriod;
    bool found = false;
  };

  [[nodiscard]] bool uses_torch_alone(pid_t pid) const;
  [[nodiscard]] std::vector<pid_t> processes_of(pid_t program) const;

  const std::string proc_;
  Time next_;
  std::map<pid_t, Looks> looks_;
};

}  // namespace stepscope

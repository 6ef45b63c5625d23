#include "profiler/recorder/unjoined_processes.h"

#include <algorithm>
#include <string_view>

#include "profiler/process/proc_text.h"
#include "profiler/process/process_tree.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxThreads = 64;  // whose children are looked for, of one process

bool maps_file(std::string_view maps, std::string_view name_begins) {
  return maps.find("/" + std::string(name_begins)) != std::string_view::npos;
}

}  // namespace

bool UnjoinedProcesses::uses_torch_alone(pid_t pid) const {
  const std::string maps = read_proc_file(proc_ + "/" + std::to_string(pid) + "/maps");
  // Under its own name and that in a repaired wheel (libtorch_cpu-1a2b3c4d.so).
  const bool torch = maps_file(maps, "libtorch_cpu.so") || maps_file(maps, "libtorch_cpu-");
  return torch && !maps_file(maps, "libstepscope.so");
}

// Breadth first, so that the closest ones are within the limit.
std::vector<pid_t> UnjoinedProcesses::processes_of(pid_t program) const {
  std::vector<pid_t> found{program};
  for (std::size_t i = 0; i < found.size() && found.size() < kMaxProcesses; ++i) {
    const auto children = children_of(proc_, found[i], kMaxThreads, kMaxProcesses - found.size());
    found.insert(found.end(), children.begin(), children.end());
  }
  return found;
}

std::vector<pid_t> UnjoinedProcesses::search(pid_t program,
                                             const std::function<bool(pid_t)>& has_joined,
                                             Time now) {
  std::vector<pid_t> found;
  if (now < next_) return found;
  next_ = now + kPeriod;
  std::map<pid_t, Looks> living;
  for (const pid_t pid : processes_of(program)) {
    const auto known = looks_.find(pid);
    Looks& looks = living[pid] = known == looks_.end() ? Looks{now} : known->second;
    if (looks.found || now < looks.next || has_joined(pid)) continue;
    looks.next = now + looks.period;
    looks.period = std::min(2 * looks.period, kLongestPeriod);
    looks.found = uses_torch_alone(pid);
    if (looks.found) found.push_back(pid);
  }
  looks_ = std::move(living);
  return found;
}

}  // namespace stepscope

#include "profiler/recorder/other_cpus.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/process/proc_text.h"

namespace stepscope {

int cpu_in_stat(std::string_view stat) {
  constexpr std::size_t kProcessor = 39 - 3;
  const std::vector<std::string_view> field = stat_fields(stat);
  if (field.size() <= kProcessor) return -1;
  const std::int64_t cpu = number_in(field[kProcessor]);
  return cpu < CPU_SETSIZE ? static_cast<int>(cpu) : -1;
}

int last_cpu_of(pid_t pid, pid_t tid) {
  return cpu_in_stat(
      read_proc_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat"));
}

void OtherCpus::avoid(const std::vector<int>& busy) {
  cpu_set_t now{};
  if (sched_getaffinity(0, sizeof(now), &now) != 0) return;  // more CPUs than the set holds
  // A mask that somebody else has set, for example with taskset, is respected. At first chosen_ is
  // empty and matches no mask.
  if (CPU_EQUAL(&now, &chosen_) == 0) allowed_ = now;
  chosen_ = allowed_;
  for (const int cpu : busy) {
    if (cpu >= 0) CPU_CLR(static_cast<std::size_t>(cpu), &chosen_);
  }
  if (CPU_COUNT(&chosen_) == 0) chosen_ = allowed_;
  if (CPU_EQUAL(&now, &chosen_) != 0) return;
  if (sched_setaffinity(0, sizeof(chosen_), &chosen_) != 0) chosen_ = now;
}

}  // namespace stepscope

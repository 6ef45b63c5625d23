// Keeps a thread that wakes up often off the CPUs that others compute on.
//
// The timer of a sleeping thread interrupts the CPU on which the thread fell asleep, whatever runs
// there by then. In a virtual machine, 250 such interrupts a second slowed a loop on that CPU by 5
// %, and a loop on another CPU by nothing measurable (docs/lines.md, "How exact it is").
//
// Thread safety: only the thread that the object moves may use it.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string_view>
#include <vector>

namespace stepscope {

// The CPU that a thread runs on, or ran on last; -1: unknown. `stat`: the text of the thread's file
// in /proc, see proc_pid_stat(5).
int cpu_in_stat(std::string_view stat);
int last_cpu_of(pid_t pid, pid_t tid);

class OtherCpus {
 public:
  // Moves the calling thread off the CPUs `busy`, if it may use another. Threads migrate, so call
  // this from time to time.
  void avoid(const std::vector<int>& busy);

 private:
  cpu_set_t allowed_{};  // as last set by others
  cpu_set_t chosen_{};
};

}  // namespace stepscope

// Keeps a thread that wakes up often off the CPUs that others compute on.
//
// The timer of a sleeping thread interrupts the CPU that it fell asleep on, whoever runs there by
// then. In a virtual machine, 250 such interrupts a second slowed a loop by 5 % on its own CPU, and
// by nothing that could be measured on another (docs/lines.md, "How exact it is").
//
// Thread safety: an object belongs to the thread that it moves.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string_view>
#include <vector>

namespace stepscope {

// The CPU that a thread runs on, or ran on last; nothing known: -1. `stat`: the text of its file in
// /proc, see proc_pid_stat(5).
int cpu_in_stat(std::string_view stat);
int last_cpu_of(pid_t pid, pid_t tid);

class OtherCpus {
 public:
  // Moves the calling thread off the CPUs `busy`, if it may use another. Threads wander, so this is
  // to be called from time to time.
  void avoid(const std::vector<int>& busy);

 private:
  cpu_set_t allowed_{};  // by whoever set it last
  cpu_set_t chosen_{};
};

}  // namespace stepscope

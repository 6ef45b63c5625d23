#include "profiler/recorder/prompt_wakeups.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace stepscope {
namespace {

// struct sched_attr of linux/sched/types.h, in its first version. C libraries before glibc 2.41
// neither declare it nor wrap its system calls.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns;  // for SCHED_OTHER: the slice
  std::uint64_t deadline_ns;
  std::uint64_t period_ns;
};

// The shortest slice that the kernel grants; see __setparam_fair() in its kernel/sched/syscalls.c.
constexpr std::uint64_t kShortestSliceNs = 100'000;

}  // namespace

void request_prompt_wakeups() noexcept {
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
  SchedulingAttributes attributes{};
  // Read the current attributes first: those that should not change, such as the nice value, must
  // be set again.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
  attributes.size = sizeof(attributes);
  attributes.runtime_ns = kShortestSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

}  // namespace stepscope

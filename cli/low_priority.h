// Low priority for verbs that watch a program while it trains.
#pragma once

#include <sys/resource.h>

namespace stepscope::cli {

// Lowers the priority of this thread and of those that it starts. On a busy machine they get a
// tenth of the CPU time that the training gets. With less, the user would see nothing.
inline void yield_to_training() {
  constexpr int kNice = 10;  // nice(2)
  ::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace stepscope::cli

// For verbs that look on while a program is being trained.
#pragma once

#include <sys/resource.h>

namespace stepscope::cli {

// On a busy machine it gets a tenth of what the training gets. Not less: whoever looks on is to see
// something. Of this thread and those that it starts.
inline void yield_to_training() {
  constexpr int kNice = 10;  // nice(2)
  ::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace stepscope::cli

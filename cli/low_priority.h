// For verbs that look on while a program is being trained.
#pragma once

#include <sys/resource.h>

namespace stepscope::cli {

// Whatever processor time the training needs, it has first. Of this thread and those that it starts.
inline void yield_to_training() {
  constexpr int kLeastImportant = 19;  // nice(2)
  ::setpriority(PRIO_PROCESS, 0, kLeastImportant);
}

}  // namespace stepscope::cli

#pragma once

#include <sys/types.h>

namespace stepscope {

// Whether the first thread of a process waits for what a user types: it reads from a terminal, or
// waits until it can, as readline does. False if the kernel does not say.
bool waits_for_terminal(pid_t pid);

}  // namespace stepscope

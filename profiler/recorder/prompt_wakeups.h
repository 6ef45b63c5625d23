// Asks the scheduler to run a thread soon after it wakes up.
#pragma once

namespace stepscope {

// Gives the calling thread the shortest possible time slice. A thread that runs for microseconds
// and sleeps for milliseconds then runs before other ready threads, and takes nothing else from
// them. Needs no privilege. No effect on a thread with a real-time or idle policy, and none before
// Linux 6.12.
void request_prompt_wakeups() noexcept;

}  // namespace stepscope

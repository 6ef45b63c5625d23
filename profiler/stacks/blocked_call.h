// What a thread is blocked in, from /proc/PID/task/TID/syscall; see proc_pid_syscall(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// Whether the file says "running": the thread has a core, or is ready for one.
bool says_running(std::string_view text);

// The call in a text such as "0 0x3 0x7f… …": 'futex', or, if its first argument is a descriptor,
// 'read /data/train.bin' or 'read a pipe'. `pid`: the process whose descriptors they are. 'a page
// fault' if the thread is in no call. Nothing for any other text.
std::optional<std::string> blocked_call(std::string_view text, pid_t pid);

}  // namespace stepscope

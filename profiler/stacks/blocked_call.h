// What a thread is blocked in, from /proc/PID/task/TID/syscall; see proc_pid_syscall(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// "running" of that file: it has a core, or is ready for one.
bool says_running(std::string_view text);

// 'futex', or with what its first argument leads to, 'read /data/train.bin' and 'read a pipe', of
// "0 0x3 0x7f… …". `pid`: whose descriptors they are. 'a page fault' where the thread is in no
// call. Nothing for any other text.
std::optional<std::string> blocked_call(std::string_view text, pid_t pid);

}  // namespace stepscope

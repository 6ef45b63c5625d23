// The parents, threads and children of processes, as /proc lists them. What ends meanwhile is left
// out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepscope {

// The parent of a process; 0: unknown.
std::int64_t parent_of(std::int64_t pid);

// The threads of a process: the first `most` that are listed. `proc`: the folder /proc.
std::vector<pid_t> threads_of(const std::string& proc, pid_t pid, std::size_t most);

// The processes that the first `most_threads` threads of a process have started, at most `most`.
std::vector<pid_t> children_of(const std::string& proc, pid_t pid, std::size_t most_threads,
                               std::size_t most);

}  // namespace stepscope

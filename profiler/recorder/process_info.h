// The facts that a recording stores about a process and the machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/events.h"

namespace stepscope {

// The calling process: pid, comm, command line, parent.
Process this_process();
// Another process, as far as /proc describes it; without parent and rank.
Process process_of(std::int64_t pid);

// Meta keys `host`, `boot_id`, `kernel`, `cpu_model`, `cpu_count` (that this process may use) and
// `command`.
std::vector<std::pair<std::string, std::string>> machine_meta();

}  // namespace stepscope

// Where the threads of a process were when it ended.
#pragma once

#include <vector>

#include "analyzer/lines/find_lines.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"

namespace stepscope {

// Fills ProcessReport::last_lines of the processes that died, and ends their sentences with the
// line of the main thread. A thread that was not looked at in the last second is left out.
void add_last_lines(const RecordedRun& recording, const StackHistory& history,
                    std::vector<ProcessReport>& processes);

}  // namespace stepscope

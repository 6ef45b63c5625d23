// The part of a run's JSON document about all its processes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The key "run": the program, the machine, and how each process ran and ended.
nlohmann::ordered_json run_json(const AnalysisReport& report);
// Where threads were in their last stack sample.
nlohmann::ordered_json last_lines_json(const std::vector<LastLine>& lines);
nlohmann::ordered_json losses_json(const AnalysisReport& report);

}  // namespace stepscope

// The part of a run's JSON document about the code that takes a loop's time: lines, modules and
// native libraries.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyzer/report.h"

namespace stepscope {

nlohmann::ordered_json lines_json(const LoopReport& loop);
nlohmann::ordered_json line_use_json(const LineUse& use);
nlohmann::ordered_json modules_json(const LoopReport& loop);
nlohmann::ordered_json native_json(const LoopReport& loop);

}  // namespace stepscope

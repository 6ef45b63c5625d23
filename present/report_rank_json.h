// The part of a run's JSON document about its ranks.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyzer/report.h"

namespace stepscope {

// The key "ranks"; null if there is one rank.
nlohmann::ordered_json ranks_json(const AnalysisReport& report);
// A loop's key "rank_wait"; null if its rank was not compared with others.
nlohmann::ordered_json rank_wait_json(const LoopReport& loop);

}  // namespace stepscope

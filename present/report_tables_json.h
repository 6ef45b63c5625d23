// The tables of a loop in a run's JSON document, each of the first `top` rows.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "analyzer/report.h"

namespace stepscope {

nlohmann::ordered_json scopes_json(const LoopReport& loop, std::size_t top);
nlohmann::ordered_json ops_json(const LoopReport& loop, std::size_t top);
nlohmann::ordered_json kernels_json(const LoopReport& loop, std::size_t top);
nlohmann::ordered_json copies_json(const LoopReport& loop, std::size_t top);
// The steps that took longest, with where their time went.
nlohmann::ordered_json slowest_json(const LoopReport& loop, std::size_t top);

}  // namespace stepscope

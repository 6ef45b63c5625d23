// The part of a run's JSON document about a loop: the keys that its top level and each of its loops
// share.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "analyzer/report.h"
#include "present/cost.h"

namespace stepscope {

// `top`: the number of ops, kernels, copies and slowest steps to list.
nlohmann::ordered_json loop_json(const LoopReport& loop, std::size_t top, const Price& price);
// null without a device.
nlohmann::ordered_json device_json(const LoopReport& loop);

}  // namespace stepscope

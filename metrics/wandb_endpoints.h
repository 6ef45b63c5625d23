// W&B's library scrapes the endpoints that an environment variable of its process names, and charts
// them beside its own system metrics.
#pragma once

#include <string>

#include "store/status.h"

namespace stepscope {

inline constexpr char kWandbVariable[] = "WANDB_X_STATS_OPEN_METRICS_ENDPOINTS";

// The value of the variable that adds `address` under the name "stepscope" to the endpoints in
// `before`, "" if it was not set. An endpoint that already has that name stays. Errors: kUsage,
// `before` is not a JSON object.
Result<std::string> add_wandb_endpoint(const std::string& before, const std::string& address);

}  // namespace stepscope

// The windows of `stepscope run` besides --steps: --schedule, --duration.
#pragma once

#include <string>

#include "profiler/ring/region_format.h"
#include "store/status.h"

namespace stepscope {

// "2%" or "0.02" as a share of the run's time, above 0 and at most 1. Errors: kUsage.
Result<double> read_budget(const std::string& text);
// "wait=100,warmup=5,active=10,repeat=3", in any order; active is required. Errors: kUsage.
Status read_schedule(const std::string& text, RecordPlan& plan);
// For the store's meta: the window that was requested; "" if ops are recorded throughout.
std::string window_text(const std::string& steps, const std::string& schedule, double duration_s);

}  // namespace stepscope

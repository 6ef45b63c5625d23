// The wording of a verdict for a loop on a device, which accounts for the device's time.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// "of the step keeps the device waiting for input"
const char* device_clause_of(Category category);

// The reason, if it differs from that of a loop on the host (kCompute, kLaunch); else empty.
std::string device_reason(const LoopReport& report, Category category);

}  // namespace stepscope

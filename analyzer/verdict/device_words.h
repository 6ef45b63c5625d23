// How the verdict of a loop on a device is worded: there it is the device whose time is told.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// "of the step the device waits for input"
const char* device_clause_of(Category category);

// Why, where that is another than for a loop on the host: for kCompute and kLaunch. Else empty.
std::string device_reason(const LoopReport& report, Category category);

}  // namespace stepscope

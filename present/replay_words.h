// Why there are no predictions, in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// A clause; "" where there are some.
std::string withheld_text(const ReplayReport& replay);

}  // namespace stepscope

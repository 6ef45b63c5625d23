// Why there are no predictions, in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// A clause; "" if there are predictions.
std::string withheld_text(const ReplayReport& replay);

}  // namespace stepscope

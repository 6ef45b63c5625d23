// Where a run is recorded, and as part of which job.
#pragma once

#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// `text` with its placeholders replaced (profiler/identity/output_name.h). Creates the folders
// whose names contain a placeholder. `job`: the name that the user gave it, or "". Errors: kUsage,
// kIo.
Result<std::string> output_of(const std::string& text, const std::string& job,
                              const std::vector<std::string>& program);

}  // namespace stepscope

// Starts the part for many machines, fleet/, which is in Python.
#pragma once

#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// The interpreter and its arguments for `stepscope VERB WORDS…`. Errors: kUnavailable, the Python
// part is not installed.
Result<std::vector<std::string>> fleet_command(const std::string& verb,
                                               const std::vector<std::string>& words);
// The error for a `python` that could not be started. `error`: an errno.
Status no_python(const std::string& python, int error);

}  // namespace stepscope

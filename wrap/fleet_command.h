// The part for many machines, fleet/, is Python: how a program in C++ starts it.
#pragma once

#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// The interpreter and its arguments for `stepscope VERB WORDS…`. Errors: kUnavailable, the Python
// part is not installed.
Result<std::vector<std::string>> fleet_command(const std::string& verb,
                                               const std::vector<std::string>& words);
// That `python` could not be started, with errno.
Status no_python(const std::string& python, int error);

}  // namespace stepscope

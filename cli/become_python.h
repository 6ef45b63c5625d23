// Verbs whose work is done by the Python part in fleet/.
#pragma once

#include <string>
#include <vector>

namespace stepscope::cli {

// Replaces this program with the Python part. Returns an exit code only if there is no interpreter,
// after it has printed why.
int become_python(const char* verb, const std::vector<std::string>& words);

}  // namespace stepscope::cli

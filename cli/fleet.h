// The verbs for many machines: `lake` and `fleet`. Both are Python, an optional part: the binary
// finds an interpreter and becomes it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope::cli {

// The interpreter and its arguments for `stepscope VERB WORDS…`. Errors: kUnavailable, the Python
// part is not installed.
Result<std::vector<std::string>> fleet_command(const std::string& verb,
                                               const std::vector<std::string>& words);
// That `python` could not be started, with errno.
Status no_python(const std::string& python, int error);

void add_lake(CLI::App& app, int& exit_code);
void add_fleet(CLI::App& app, int& exit_code);

}  // namespace stepscope::cli

// The verbs for many machines: `lake` and `fleet`. Both are Python, an optional part: the binary
// finds an interpreter and becomes it.
#pragma once

#include <CLI/CLI.hpp>

namespace stepscope::cli {

void add_lake(CLI::App& app, int& exit_code);
void add_fleet(CLI::App& app, int& exit_code);

}  // namespace stepscope::cli

// --cmake-dir, --man and --completion: what an installation says of itself, to other programs.
#pragma once

#include <CLI/CLI.hpp>

namespace stepscope::cli {

// Each prints and ends the program, as --version does. What they print follows `app`, its verbs and
// their options, when they are called.
void add_self_description(CLI::App& app);

}  // namespace stepscope::cli

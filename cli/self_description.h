// --cmake-dir, --man and --completion: how an installation describes itself to other programs.
#pragma once

#include <CLI/CLI.hpp>

namespace stepscope::cli {

// Each of these options prints and exits, as --version does. The output describes `app`, its verbs
// and their options as they are at the time of the call.
void add_self_description(CLI::App& app);

}  // namespace stepscope::cli

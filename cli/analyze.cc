#include "cli/verb.h"

namespace stepscope::cli {
void add_analyze(CLI::App&, int&) {}
}  // namespace stepscope::cli

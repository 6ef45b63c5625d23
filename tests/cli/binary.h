// Runs the `stepscope` binary as a script would.
#pragma once

#include <string>
#include <vector>

namespace stepscope::testing {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` are handed over as they are. Standard output and error are no terminals.
Outcome run_stepscope(const std::vector<std::string>& arguments);

}  // namespace stepscope::testing

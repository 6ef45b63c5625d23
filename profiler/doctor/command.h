// Runs other programs: compilers, Pythons. No shell in between.
//
// Thread safety: none; changes the signal handling of the process meanwhile.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "profiler/launch/child.h"

namespace stepscope {

struct CommandResult {
  int exit_code = 0;   // as in a shell: 127 not found, 128 + N killed by signal N
  std::string output;  // its standard output
};

// Program (found in PATH) and arguments. Discards its standard error.
CommandResult capture(const std::vector<std::string>& words);

// Captures both outputs; `environment` is added to that of this process.
struct CommandOutputs {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
CommandOutputs capture_both(const std::vector<std::string>& words, const Environment& environment);

// Appends both outputs to the file `log`, and calls `tick` a few times a second. Ctrl-C ends the
// program and not us, so that we can clean up after it. Returns its exit code.
int run_logged(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick);

}  // namespace stepscope

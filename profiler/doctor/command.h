// Runs other programs: compilers, Pythons. No shell in between.
//
// Thread safety: none; the signals of the process are touched meanwhile.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "profiler/launch/child.h"

namespace stepscope {

struct CommandResult {
  int exit_code = 0;   // as a shell has it: 127 not found, 128 + N killed by signal N
  std::string output;  // what it said on standard output
};

// Program (found in PATH) and arguments. Its standard error is thrown away.
CommandResult capture(const std::vector<std::string>& words);

// Both of its outputs; `environment` is added to this process's.
struct CommandOutputs {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
CommandOutputs capture_both(const std::vector<std::string>& words, const Environment& environment);

// Both outputs are added to the file `log`. `tick` is called a few times a second meanwhile. Ctrl-C
// ends the program and not us, so that what it leaves behind can be tidied up. Returns its exit
// code.
int run_logged(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick);

}  // namespace stepscope

// Runs other programs (compilers, Pythons) without a shell.
//
// Thread safety: none; changes the signal handling of the process while it runs them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "profiler/launch/child.h"
#include "store/status.h"

namespace stepscope {

struct CommandResult {
  int exit_code = 0;   // as in a shell: 127 not found, 128 + N killed by signal N
  std::string output;  // its standard output
};

// Program (found in PATH) and arguments. Discards its standard error.
CommandResult capture(const std::vector<std::string>& words);

// Captures both outputs. Adds `environment` to that of this process.
struct CommandOutputs {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
CommandOutputs capture_both(const std::vector<std::string>& words, const Environment& environment);

// Captures the first 4 KiB of each output. The program starts without blocked signals, whatever
// this process blocks. Errors: kUnavailable (it took longer than `limit`, and was killed), kIo (no
// pipe). Exit codes as in a shell, including 126: it cannot be executed.
Result<CommandOutputs> capture_within(const std::vector<std::string>& words,
                                      std::chrono::milliseconds limit);

// Appends both outputs to the file `log`, and calls `tick` a few times a second. Ctrl-C ends the
// program and not us, so that we can clean up after it. Returns its exit code.
int run_logged(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick);

}  // namespace stepscope

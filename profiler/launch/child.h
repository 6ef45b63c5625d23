// The wrapped program as a child process: started with what it needs to be seen, and otherwise just
// as if it had been started without us.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/channel/listener.h"
#include "profiler/launch/program_file.h"
#include "store/status.h"

namespace stepscope {

using Environment = std::vector<std::pair<std::string, std::string>>;

// The variables that a program is given: where the recorder is, the library to preload (after the
// user's own, and after a sanitizer's runtime, which must be first), the Python hooks.
Environment environment_for(const ProgramFile& program, const std::string& socket,
                            const std::string& library, const std::string& python_folder);

class Child {
 public:
  // Starts `arguments` (program first) with `environment` added to this process's. The signals that
  // a person or a system may send us are taken by this object from now on. Errors: kIo, kNotFound.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const Environment& environment);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when signals() has something to do.
  [[nodiscard]] int fd() const { return signals_.get(); }
  // Passes on what was sent to us alone. What the terminal sent, the program has got already.
  void pass_signals_on() const;
  // Its wait status once it has ended; see waitpid(2).
  [[nodiscard]] std::optional<int> ended() const;

 private:
  Child(pid_t pid, OwnedFd signals) : pid_(pid), signals_(std::move(signals)) {}

  pid_t pid_;
  OwnedFd signals_;
};

// Of waitpid()'s status, as a shell has it: 128 + N when signal N killed the program.
int exit_code_of(int wait_status);

}  // namespace stepscope

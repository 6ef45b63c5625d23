// The wrapped program as a child process: started with what it needs to be seen, and otherwise just
// as if it had been started without us.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
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
// user's own, and after a sanitizer's runtime, which must be first), the Python hooks. Both paths
// as PreloadFolder names them.
Environment environment_for(const ProgramFile& program, const std::string& socket,
                            const std::string& library, const std::string& python_folder);

// What else differs from a program that a shell starts.
struct ChildSetup {
  // In a group of processes of its own, which end_group() ends; its standard input is empty, no
  // signal is blocked or ignored on our account, it is killed when the process that started it
  // dies, and our signals are as before once the Child is gone. A signal that we ignore (SIGHUP
  // under nohup) is not taken.
  bool apart = false;
  int output = -1;  // what becomes its standard output; -1: ours
  int error = -1;   // the same of standard error
  std::int64_t address_limit =
      0;  // bytes that each of its processes may map, as `ulimit -v`; 0: as we
};

struct ChildEnd {
  int wait_status = 0;  // see waitpid(2)
  rusage usage{};       // of it and of those it has waited for; ru_maxrss is that of the largest
};

class Child {
 public:
  // Starts `arguments` (program first) with `environment` added to this process's. The signals that
  // a person or a system may send us are taken by this object from now on. Errors: kIo, kNotFound.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const Environment& environment, const ChildSetup& setup = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when signals() has something to do.
  [[nodiscard]] int fd() const { return signals_.get(); }
  // Passes on what was sent to us alone: by another process, and the terminal's hang-up where we
  // lead the session. What the terminal sent to the foreground group, the program has got already.
  void pass_signals_on() const;
  // Instead of passing them on: the next one that was sent to us, SIGCHLD left out; 0: none.
  [[nodiscard]] int take_signal() const;
  // Sends `signal` to all of its group. Only of one that is apart.
  void end_group(int signal) const;
  // How it has ended, once it has. Once.
  [[nodiscard]] std::optional<ChildEnd> ended() const;

 private:
  Child(pid_t pid, OwnedFd signals, const std::optional<sigset_t>& before)
      : pid_(pid), signals_(std::move(signals)), before_(before) {}

  pid_t pid_;
  OwnedFd signals_;
  std::optional<sigset_t> before_;  // what was blocked in us; nothing: it stays as it is
};

// Of waitpid()'s status, as a shell has it: 128 + N when signal N killed the program.
int exit_code_of(int wait_status);

}  // namespace stepscope

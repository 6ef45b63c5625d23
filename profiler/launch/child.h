// The wrapped program as a child process: started with the environment that recording needs,
// otherwise exactly as without us.
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

// The environment variables for the program: the recorder's socket, the library to preload (after
// the user's own, and after a sanitizer's runtime, which must come first), the Python hooks. Both
// paths are those of PreloadFolder. Nothing for a program that our library cannot be loaded into. A
// PYTHONPATH that is already as long as the kernel allows stays as it is, and so does everything if
// LD_PRELOAD is.
Environment environment_for(const ProgramFile& program, const std::string& socket,
                            const std::string& library, const std::string& python_folder);

// Further differences from a program started by a shell.
struct ChildSetup {
  // Starts it in its own process group, which end_group() ends. Its standard input is empty, it
  // inherits no signals that we block or ignore for our own purposes, and it is killed when the
  // process that started it dies. Our signal mask is restored when the Child is destroyed. Signals
  // that were ignored before (SIGHUP under nohup) stay ignored.
  bool apart = false;
  int output = -1;  // its standard output; -1: ours
  int error = -1;   // its standard error; -1: ours
  // Bytes that each of its processes may map, as with `ulimit -v`; 0: our own limit.
  std::int64_t address_limit = 0;
};

struct ChildEnd {
  int wait_status = 0;  // see waitpid(2)
  rusage usage{};       // of the program and its awaited children; ru_maxrss is the largest one's
};

class Child {
 public:
  // Starts `arguments` (program first) with `environment` added to the environment of this process.
  // From now on, this object receives the signals that users or the system send to us. Errors: kIo,
  // kNotFound.
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const Environment& environment, const ChildSetup& setup = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when signals() has work to do.
  [[nodiscard]] int fd() const { return signals_.get(); }
  // Forwards signals that only we received: those of another process, and the terminal's hang-up if
  // we lead the session. The program has already received what the terminal sent to the foreground
  // group.
  void pass_signals_on() const;
  // The alternative to forwarding: returns the next signal sent to us, except SIGCHLD; 0: none.
  [[nodiscard]] int take_signal() const;
  // Sends `signal` to its whole group. Only for a child in its own group.
  void end_group(int signal) const;
  // How the program ended; returned once, after its end. If something else in this process has
  // taken its status, that is unknown and reads as exit code 255.
  [[nodiscard]] std::optional<ChildEnd> ended() const;

 private:
  Child(pid_t pid, OwnedFd signals, const std::optional<sigset_t>& before)
      : pid_(pid), signals_(std::move(signals)), before_(before) {}

  pid_t pid_;
  OwnedFd signals_;
  std::optional<sigset_t> before_;  // our earlier signal mask; nothing: unchanged
};

// For the start of main(): lets this process learn how its children end, even if it was started
// with SIGCHLD ignored, when the kernel keeps no child's status. The programs of Child still ignore
// it.
void await_children();

// The exit code that a shell would give for waitpid()'s status: 128 + N if signal N killed the
// program.
int exit_code_of(int wait_status);

}  // namespace stepscope

// A part of a test in a process of its own: to be killed, to run out of disk, to lack permissions.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace stepscope {

// Forks at construction. The child runs `body`, tells the parent with `ready()` how far it is, and
// exits with the body's result; no test framework there, so that a failure is an exit code.
class Child {
 public:
  using Ready = std::function<void()>;

  explicit Child(const std::function<int(const Ready&)>& body) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(pipe_ends[0]);
      ::_exit(body([&] { [[maybe_unused]] const auto n = ::write(pipe_ends[1], "r", 1); }));
    }
    ::close(pipe_ends[1]);
    read_end_ = pipe_ends[0];
  }

  ~Child() {
    if (pid_ > 0) kill();
    ::close(read_end_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // False when the child ended without having called ready().
  bool wait_until_ready() {
    char c = 0;
    return ::read(read_end_, &c, 1) == 1;
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    static_cast<void>(exit_code());
  }

  // Waits; -1 when the child was killed.
  int exit_code() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int read_end_ = -1;
};

}  // namespace stepscope

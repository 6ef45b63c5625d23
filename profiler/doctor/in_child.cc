#include "profiler/doctor/in_child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "profiler/channel/channel_format.h"
#include "profiler/channel/listener.h"

namespace stepscope {
namespace {

// Discards what libraries print while they are loaded.
void be_quiet() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
}

// Sends one byte, so that an empty text is also an answer, then the text.
[[noreturn]] void answer(int fd, const std::string& text) {
  const std::string message = "=" + text;
  (void)!write(fd, message.data(), message.size());
  _exit(0);
}

ChildAnswer received(int fd, pid_t child) {
  char message[2048];
  const ssize_t size = read(fd, message, sizeof(message));
  int status = 0;
  waitpid(child, &status, 0);
  if (size > 0) return {true, std::string(message + 1, static_cast<std::size_t>(size) - 1)};
  const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it exited";
  return {false, "the process that loaded it died (" + how + ")"};
}

}  // namespace

ChildAnswer ask_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {false, std::strerror(errno)};
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return {false, std::strerror(errno)};
  if (child == 0) {
    be_quiet();
    unsetenv(kSocketVariable);  // there is nothing to record here, even if we are wrapped
    answer(write_end.get(), work());
  }
  write_end = OwnedFd();
  return received(read_end.get(), child);
}

}  // namespace stepscope

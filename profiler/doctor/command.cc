#include "profiler/doctor/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "profiler/channel/listener.h"
#include "profiler/launch/child.h"

extern char** environ;

namespace stepscope {
namespace {

constexpr int kTickMs = 200;
constexpr int kNotFound = 127;

// What posix_spawn() shall do in the child before the program begins.
class SpawnActions {
 public:
  SpawnActions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void to_file(int fd, const char* path) {
    posix_spawn_file_actions_addopen(&actions_, fd, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  }
  void to_fd(int fd, int target) { posix_spawn_file_actions_adddup2(&actions_, target, fd); }
  void default_signals(const sigset_t& set) {
    posix_spawnattr_setsigdefault(&attributes_, &set);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  // -1: it could not be started.
  [[nodiscard]] pid_t start(const std::vector<std::string>& words) const {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    return posix_spawnp(&pid, argv[0], &actions_, &attributes_, argv.data(), environ) == 0 ? pid
                                                                                           : -1;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Ctrl-C reaches the program and us; as long as this lives it means the program. See system(3).
class LeaveInterruptsToChild {
 public:
  LeaveInterruptsToChild() {
    sigemptyset(&taken_);
    for (std::size_t i = 0; i < 2; ++i) {
      struct sigaction ignore {};
      ignore.sa_handler = SIG_IGN;
      sigaction(kSignals[i], &ignore, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaddset(&taken_, kSignals[i]);
    }
  }
  ~LeaveInterruptsToChild() {
    for (std::size_t i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  LeaveInterruptsToChild(const LeaveInterruptsToChild&) = delete;
  LeaveInterruptsToChild& operator=(const LeaveInterruptsToChild&) = delete;
  [[nodiscard]] const sigset_t& taken() const { return taken_; }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGQUIT};
  struct sigaction before_[2]{};
  sigset_t taken_{};
};

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  ssize_t size = 0;
  while ((size = read(fd, part, sizeof(part))) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

CommandResult capture(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {kNotFound, {}};
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  SpawnActions actions;
  actions.to_fd(STDOUT_FILENO, write_end.get());
  actions.to_file(STDERR_FILENO, "/dev/null");
  const pid_t pid = actions.start(words);
  write_end = OwnedFd();
  if (pid < 0) return {kNotFound, {}};
  CommandResult result;
  result.output = read_all(read_end.get());
  result.exit_code = wait_for(pid);
  return result;
}

int run_logged(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick) {
  std::ofstream file(log, std::ios::app);
  file << '$';
  for (const std::string& word : words) file << ' ' << word;
  file << '\n';
  file.close();
  const LeaveInterruptsToChild interrupts;
  SpawnActions actions;
  actions.to_file(STDOUT_FILENO, log.c_str());
  actions.to_fd(STDERR_FILENO, STDOUT_FILENO);
  actions.default_signals(interrupts.taken());
  const pid_t pid = actions.start(words);
  if (pid < 0) return kNotFound;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    poll(nullptr, 0, kTickMs);
    tick();
  }
  return exit_code_of(status);
}

}  // namespace stepscope

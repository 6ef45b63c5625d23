#include "profiler/doctor/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "profiler/channel/listener.h"
#include "profiler/launch/child.h"

extern char** environ;

namespace stepscope {
namespace {

constexpr int kTickMs = 200;
constexpr int kShortTickMs = 10;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr std::size_t kMaxOutput = 4096;  // bytes

// The variables of this process, with those in `added` added or replaced.
std::vector<std::string> with_environment(const Environment& added) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  const auto is_replaced = [&](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::any_of(added.begin(), added.end(),
                       [&](const auto& one) { return one.first == name; });
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_replaced(*variable)) variables.emplace_back(*variable);
  }
  return variables;
}

// What posix_spawn() does in the child before the program begins.
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
  void unblock_signals() {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  // Returns the process, or -errno if it could not be started.
  [[nodiscard]] pid_t start(const std::vector<std::string>& words,
                            const Environment& added = {}) const {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    std::vector<std::string> variables = with_environment(added);
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);
    pid_t pid = -1;
    const int error =
        posix_spawnp(&pid, argv[0], &actions_, &attributes_, argv.data(), envp.data());
    return error == 0 ? pid : -error;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Ctrl-C reaches both the program and us. While this object lives, we ignore it. See system(3).
class LeaveInterruptsToChild {
 public:
  LeaveInterruptsToChild() {
    sigemptyset(&taken_);
    for (std::size_t i = 0; i < 2; ++i) {
      struct sigaction ignore{};
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

// Reads both at once, because a program that writes much to one blocks until it is read.
void read_both(int output, int errors, CommandOutputs& into) {
  pollfd fds[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  std::string* texts[] = {&into.output, &into.errors};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char part[4096];
      const ssize_t size = read(fds[i].fd, part, sizeof(part));
      if (size > 0) texts[i]->append(part, static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) fds[i].fd = -1;
    }
  }
}

// The reading end of a pipe whose writing end a program has; reading never blocks.
struct OutputPipe {
  OwnedFd reading, writing;
  std::string text;  // the first kMaxOutput bytes

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    reading = OwnedFd(ends[0]);
    writing = OwnedFd(ends[1]);
    return true;
  }
  void read_some() {
    char part[512];
    for (ssize_t size = 0; (size = read(reading.get(), part, sizeof(part))) > 0;) {
      if (text.size() < kMaxOutput) text.append(part, static_cast<std::size_t>(size));
    }
  }
};

}  // namespace

Result<CommandOutputs> capture_within(const std::vector<std::string>& words,
                                      std::chrono::milliseconds limit) {
  OutputPipe output, errors;
  if (!output.open() || !errors.open()) {
    return Status::error(ErrorKind::kIo, "no pipe could be created");
  }
  SpawnActions actions;
  actions.to_fd(STDOUT_FILENO, output.writing.get());
  actions.to_fd(STDERR_FILENO, errors.writing.get());
  actions.unblock_signals();
  const pid_t pid = actions.start(words);
  output.writing = OwnedFd();
  errors.writing = OwnedFd();
  if (pid < 0) return CommandOutputs{pid == -ENOENT ? kNotFound : kCannotExecute, {}, {}};
  const auto until = std::chrono::steady_clock::now() + limit;
  int status = 0;
  // Does not wait for the end of the pipes: processes that the program leaves behind may keep them
  // open.
  while (waitpid(pid, &status, WNOHANG) == 0) {
    output.read_some();
    errors.read_some();
    if (std::chrono::steady_clock::now() > until) {
      kill(pid, SIGKILL);
      wait_for(pid);
      return Status::error(ErrorKind::kUnavailable, words[0] + ": took too long, and was killed");
    }
    poll(nullptr, 0, kShortTickMs);
  }
  output.read_some();
  errors.read_some();
  return CommandOutputs{exit_code_of(status), output.text, errors.text};
}

CommandOutputs capture_both(const std::vector<std::string>& words, const Environment& environment) {
  int output[2];
  int errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return {kNotFound, {}, {}};
  const OwnedFd output_read(output[0]);
  OwnedFd output_write(output[1]);
  if (pipe2(errors, O_CLOEXEC) != 0) return {kNotFound, {}, {}};
  const OwnedFd errors_read(errors[0]);
  OwnedFd errors_write(errors[1]);
  SpawnActions actions;
  actions.to_fd(STDOUT_FILENO, output_write.get());
  actions.to_fd(STDERR_FILENO, errors_write.get());
  const pid_t pid = actions.start(words, environment);
  output_write = OwnedFd();
  errors_write = OwnedFd();
  if (pid < 0) return {kNotFound, {}, {}};
  CommandOutputs result;
  read_both(output_read.get(), errors_read.get(), result);
  result.exit_code = wait_for(pid);
  return result;
}

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

#include "cli/run_lake.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/fleet.h"
#include "cli/run_summary.h"
#include "profiler/channel/owned_fd.h"
#include "store/contained.h"

namespace stepscope::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPatience = 5min;
constexpr std::size_t kMostText = 4096;  // bytes of what Python says

// How a command ended that says what is wrong on standard error.
struct Ended {
  int status = 0;
  std::string said;
};

// Between fork() and exec(): only what is safe there.
[[noreturn]] void become(char* const* argv, int error_fd) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(error_fd, STDERR_FILENO);
  execvp(argv[0], argv);
  _exit(errno == ENOENT ? 127 : 126);
}

void take_text(int fd, std::string& text) {
  char bytes[512];
  for (ssize_t got = 0; (got = read(fd, bytes, sizeof(bytes))) > 0;) {
    if (text.size() < kMostText) text.append(bytes, static_cast<std::size_t>(got));
  }
}

// Nothing: it did not end in time, and was killed.
bool wait_for(pid_t pid, int fd, Ended& ended) {
  const Clock::time_point until = Clock::now() + kPatience;
  while (waitpid(pid, &ended.status, WNOHANG) == 0) {
    take_text(fd, ended.said);
    if (Clock::now() > until) {
      kill(pid, SIGKILL);
      waitpid(pid, &ended.status, 0);
      return false;
    }
    std::this_thread::sleep_for(10ms);
  }
  take_text(fd, ended.said);
  return true;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string what_failed(const Ended& ended, const std::string& python) {
  if (!WIFEXITED(ended.status)) return python + " was killed";
  const int code = WEXITSTATUS(ended.status);
  if (code == 126 || code == 127) return no_python(python, code == 127 ? ENOENT : EACCES).message();
  constexpr std::string_view kPrefixes[] = {"stepscope lake: ", "stepscope: "};
  std::string said = first_line(ended.said);
  for (const std::string_view prefix : kPrefixes) {
    if (said.starts_with(prefix)) return said.substr(prefix.size());
  }
  return said.empty() ? python + " ended with " + std::to_string(code) : said;
}

std::string run_command(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe could be made";
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const OwnedFd reads(ends[0]);
  OwnedFd writes(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return "no process could be started";
  if (pid == 0) become(argv.data(), writes.get());
  writes = OwnedFd();
  Ended ended;
  if (!wait_for(pid, reads.get(), ended)) return "it took more than five minutes";
  if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) return {};
  return what_failed(ended, command[0]);
}

}  // namespace

std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed) {
  std::string failed;
  const Status status = contained([&] {
    if (!analyzed) {
      if (Status kept = analyze_and_keep(store); !kept.ok()) return kept;
    }
    auto command = fleet_command("lake", {"add", "--lake", lake, "--", store});
    if (!command.ok()) return command.status();
    failed = run_command(*std::move(command));
    return Status();
  });
  if (!status.ok()) failed = status.message();
  if (failed.empty()) return {};
  return "not added to the lake: " + failed + "; to add it later: stepscope lake add " + store +
         " --lake " + lake;
}

}  // namespace stepscope::cli

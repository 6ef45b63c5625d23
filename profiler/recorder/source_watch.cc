#include "profiler/recorder/source_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "profiler/process/other_child.h"

extern char** environ;

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kCommitLimit = 2000ms;
constexpr auto kChangesLimit = 10'000ms;
constexpr auto kLastWait = 300ms;  // if the program ends before git
constexpr std::size_t kMaxOutput = 4096;

// Our environment without variables that would point git elsewhere, and with settings that keep it
// from prompting or waiting.
std::vector<std::string> git_environment() {
  std::vector<std::string> variables{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
                                     "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with("GIT_") && !text.starts_with("LC_ALL=")) variables.emplace_back(text);
  }
  return variables;
}

// The options keep git from running programs that a repository names: a file system monitor, hooks.
std::vector<std::string> git_words(const std::filesystem::path& root,
                                   const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"git", "--no-optional-locks",      "-c", "core.fsmonitor=false",
                                 "-c",  "core.hooksPath=/dev/null", "-C", root.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts git in its own process group, with no signal blocked or ignored, and with no stream but
// `output`.
pid_t spawn(std::vector<std::string> words, int output) {
  std::vector<std::string> variables = git_environment();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, "git", &actions, &attributes, pointers_to(words).data(),
                                 pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -1;
}

}  // namespace

bool GitCommand::start(const std::filesystem::path& root, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe_ = OwnedFd(ends[0]);
  const OwnedFd write_end(ends[1]);
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  deadline_ = Clock::now() + limit;
  pid_ = spawn(git_words(root, arguments), write_end.get());
  if (pid_ < 0) return false;
  other_child = pid_;
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), 19);
  return true;
}

void GitCommand::read_output() {
  char part[kMaxOutput];
  ssize_t size = 0;
  while ((size = read(pipe_.get(), part, sizeof(part))) > 0) {
    const std::size_t room = kMaxOutput - output_.size();
    output_.append(part, std::min(static_cast<std::size_t>(size), room));
  }
}

bool GitCommand::is_over() {
  if (pid_ < 0) return true;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  read_output();
  if (ended == pid_ || (ended < 0 && errno == ECHILD)) {
    other_child = pid_ = -1;
    exit_code_ = ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
  }
  if (Clock::now() < deadline_) return false;
  timed_out_ = true;
  stop();
  return true;
}

// Does not wait for git's end: it may be stuck in the kernel, on a disk that does not answer.
void GitCommand::stop() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, WNOHANG);
  other_child = pid_ = -1;
}

void SourceWatch::start(const std::vector<std::filesystem::path>& folders) {
  if (stage_ != Stage::kIdle) return;
  stage_ = Stage::kTaken;
  for (const std::filesystem::path& folder : folders) {
    state_.root = repository_of(folder);
    if (!state_.root.empty()) break;
  }
  if (state_.root.empty()) return;
  stage_ = Stage::kCommit;
  if (git_.emplace().start(state_.root, {"rev-parse", "--verify", "--quiet", "HEAD"}, kCommitLimit))
    return;
  state_ = read_source_state(state_.root);
  stage_ = Stage::kKnown;
}

void SourceWatch::advance() {
  const bool asking = stage_ == Stage::kCommit || stage_ == Stage::kChanges;
  if (!asking || !git_->is_over()) return;
  if (stage_ == Stage::kChanges) {
    // Output that the time limit cut off also proves changes.
    if (git_->exit_code() == 0 || !git_->output().empty()) state_.dirty = !git_->output().empty();
    stage_ = Stage::kKnown;
    return;
  }
  const std::string commit = git_->output().substr(0, git_->output().find('\n'));
  if (git_->exit_code() != 0 || !is_commit(commit)) {
    // A disk that does not answer git would not answer us either.
    if (!git_->timed_out()) state_ = read_source_state(state_.root);
    stage_ = Stage::kKnown;
    return;
  }
  state_.commit = commit;
  const bool started = git_.emplace().start(
      state_.root, {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"},
      kChangesLimit);
  stage_ = started ? Stage::kChanges : Stage::kKnown;
}

std::optional<SourceState> SourceWatch::take() {
  advance();
  if (stage_ != Stage::kKnown) return std::nullopt;
  stage_ = Stage::kTaken;
  git_.reset();
  return state_;
}

void SourceWatch::finish() {
  const auto deadline = Clock::now() + kLastWait;
  const auto asking = [&] { return stage_ == Stage::kCommit || stage_ == Stage::kChanges; };
  for (advance(); asking() && Clock::now() < deadline; advance()) usleep(2000);
  if (asking()) stage_ = Stage::kKnown;
}

}  // namespace stepscope

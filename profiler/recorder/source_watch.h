// Asks git for the state of the program's source while the program runs. git runs as a process with
// the lowest priority and a time limit of a few seconds. It runs no hooks, writes nothing (not even
// the index), and does not use the network. If git is missing or refuses the repository, the
// repository's files are read instead.
//
// Thread safety: none. Invariants: no call waits, except finish(), for a moment.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/identity/source_state.h"

namespace stepscope {

// One run of git; the destructor kills it.
class GitCommand {
 public:
  // Returns false if git cannot be started.
  bool start(const std::filesystem::path& root, const std::vector<std::string>& arguments,
             std::chrono::milliseconds limit);
  // Whether git has ended or its time is up. Reads its output so far.
  bool is_over();
  // 0 on success. Valid after is_over().
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  // The beginning of its standard output.
  [[nodiscard]] const std::string& output() const { return output_; }

  GitCommand() = default;
  ~GitCommand() { stop(); }
  GitCommand(const GitCommand&) = delete;
  GitCommand& operator=(const GitCommand&) = delete;

 private:
  void read_output();
  void stop();

  pid_t pid_ = -1;
  OwnedFd pipe_;
  std::string output_;
  int exit_code_ = -1;
  bool timed_out_ = false;
  std::chrono::steady_clock::time_point deadline_;
};

class SourceWatch {
 public:
  // Starts the check of the first of `folders` that lies in a repository. Only the first call
  // counts.
  void start(const std::vector<std::filesystem::path>& folders);
  // Returns the state once, when it is known.
  std::optional<SourceState> take();
  // Waits a moment for git, then does without the rest.
  void finish();

 private:
  void advance();

  enum class Stage : unsigned char { kIdle, kCommit, kChanges, kKnown, kTaken };
  Stage stage_ = Stage::kIdle;
  SourceState state_;
  std::optional<GitCommand> git_;
};

}  // namespace stepscope

// Asks git for the state of the program's source while the program runs: in a process of its own
// with the lowest priority, whose answer is awaited for a few seconds at most. It runs no hook,
// writes nothing (not even the index) and goes to no network. Where git is missing, or refuses the
// repository, its files are read instead.
//
// Thread safety: none. Invariants: no call waits, but finish() for a moment.
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

// One run of git; ended with the object.
class GitCommand {
 public:
  // False: git cannot be started.
  bool start(const std::filesystem::path& root, const std::vector<std::string>& arguments,
             std::chrono::milliseconds limit);
  // Whether it has ended, or its time is up. Reads what it writes meanwhile.
  bool is_over();
  // 0 when it ended well. After is_over().
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
  // Once; of the first of `folders` that lies in a repository.
  void start(const std::vector<std::filesystem::path>& folders);
  // The state, once it is known; once.
  std::optional<SourceState> take();
  // Waits a moment, then does without what is still missing.
  void finish();

 private:
  void advance();

  enum class Stage : unsigned char { kIdle, kCommit, kChanges, kKnown, kTaken };
  Stage stage_ = Stage::kIdle;
  SourceState state_;
  std::optional<GitCommand> git_;
};

}  // namespace stepscope

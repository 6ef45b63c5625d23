// Programs in Python, as children of a test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/channel/owned_fd.h"

namespace stepscope::testing {

inline constexpr std::array kReadablePythons{"python3.10", "python3.11", "python3.12",
                                             "python3.13", "python3.14", "python3.15"};

// The Pythons whose stacks can be read: those of pyenv and those of test.sh
// (STEPSCOPE_TEST_PYTHONS); else the one on the PATH.
inline std::vector<std::string> pythons() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* const root = std::getenv("PYENV_ROOT")) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / "versions", none))
      folders.push_back(entry.path() / "bin");
  }
  if (const char* const folder = std::getenv("STEPSCOPE_TEST_PYTHONS"))
    folders.emplace_back(folder);
  std::vector<std::string> found;
  for (const fs::path& folder : folders) {
    for (const char* name : kReadablePythons) {
      if (fs::exists(folder / name)) found.push_back(folder / name);
    }
  }
  if (found.empty()) found.emplace_back("python3");
  return found;
}

// Runs until it has written lines to its standard output, then until this ends, which kills it and
// the processes that it started.
class PythonChild {
 public:
  PythonChild(const std::string& python, const std::string& script, int lines,
              const char* argument = nullptr) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    const OwnedFd output(ends[0]);
    {
      const OwnedFd input(ends[1]);
      pid_ = fork();
      if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        dup2(input.get(), STDOUT_FILENO);
        execlp(python.c_str(), python.c_str(), script.c_str(), argument, nullptr);
        _exit(127);
      }
    }
    setpgid(pid_, pid_);
    for (char byte = 0; lines_.size() < static_cast<std::size_t>(lines);) {
      pollfd ready{output.get(), POLLIN, 0};
      if (poll(&ready, 1, kPatienceMs) == 0) {
        ADD_FAILURE() << "the program has written only " << lines_.size() << " lines";
        return;
      }
      if (read(output.get(), &byte, 1) != 1) return;
      if (byte != '\n') {
        line_ += byte;
        continue;
      }
      lines_.push_back(line_);
      line_.clear();
    }
    ready_ = true;
  }
  ~PythonChild() { end(); }
  PythonChild(const PythonChild&) = delete;
  PythonChild& operator=(const PythonChild&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  // False: there is no such Python.
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

  [[nodiscard]] static OwnedFd open_of(pid_t pid, const char* file) {
    const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
    return OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  [[nodiscard]] OwnedFd memory() const { return open_of(pid_, "mem"); }
  [[nodiscard]] OwnedFd maps() const { return open_of(pid_, "maps"); }

 private:
  static constexpr int kPatienceMs = 30'000;

  pid_t pid_ = -1;
  bool ready_ = false;
  std::string line_;
  std::vector<std::string> lines_;
};

}  // namespace stepscope::testing

#include "wrap/terminal_wait.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// A process that does `what` with the terminal and a pipe on which nothing comes.
class Waiting {
 public:
  using What = std::function<void(int terminal, int pipe)>;
  explicit Waiting(const What& what) : controller_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (controller_ < 0 || grantpt(controller_) != 0 || unlockpt(controller_) != 0) return;
    const int terminal = open(ptsname(controller_), O_RDWR | O_NOCTTY);
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      what(terminal, ends[0]);
      _exit(0);
    }
    for (const int fd : {terminal, ends[0], ends[1]}) close(fd);
  }
  ~Waiting() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(controller_);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Once it has had time to begin.
  [[nodiscard]] bool is_seen() const {
    for (int i = 0; i < 100; ++i) {
      if (waits_for_terminal(pid_)) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }
  [[nodiscard]] bool can_be_seen() const {
    return access(("/proc/" + std::to_string(pid_) + "/syscall").c_str(), R_OK) == 0;
  }

 private:
  int controller_;
  pid_t pid_ = -1;
};

void read_one(int fd) {
  char byte;
  static_cast<void>(!read(fd, &byte, 1));
}

TEST(TerminalWait, OfAReadAndOfASelect) {
  const Waiting reads([](int terminal, int) { read_one(terminal); });
  if (!reads.can_be_seen()) GTEST_SKIP() << "the kernel does not say in which call a thread is";
  EXPECT_TRUE(reads.is_seen());
  const Waiting selects([](int terminal, int) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(terminal, &set);
    select(terminal + 1, &set, nullptr, nullptr, nullptr);
  });
  EXPECT_TRUE(selects.is_seen());
}

TEST(TerminalWait, NotOfOtherWaits) {
  EXPECT_FALSE(Waiting([](int, int pipe) { read_one(pipe); }).is_seen());
  EXPECT_FALSE(Waiting([](int, int) { pause(); }).is_seen());
  EXPECT_FALSE(Waiting([](int, int) {
                 while (true) {
                 }
               }).is_seen());
  EXPECT_FALSE(waits_for_terminal(-1));
}

}  // namespace
}  // namespace stepscope

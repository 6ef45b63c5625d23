// `stepscope top`: what a script meets, and what it does to a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Json = nlohmann::json;

class CliTop : public ::testing::Test {
 protected:
  void SetUp() override { make_store(store_, run_); }

  Outcome top(std::vector<std::string> options) {
    options.insert(options.begin(), {"top", store_});
    return run_stepscope(options);
  }

  const TempDir dir_;
  const std::string store_ = dir_ / "run.db";
  const SyntheticRun run_{.steps = 60, .lost_ops = 3, .samples = true};
};

TEST_F(CliTop, PrintsAFrameWhereThereIsNoTerminal) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--once"}}) {
    const Outcome outcome = top(options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("HIGHLY INPUT-BOUND   62.5 %"));
    EXPECT_THAT(outcome.out, HasSubstr("step 60"));
    EXPECT_THAT(outcome.out, HasSubstr("lost: 3 ops"));
    EXPECT_THAT(outcome.out, HasSubstr("step time   4.80 ms"));
    EXPECT_THAT(outcome.out, HasSubstr("input wait  3.00 ms a step"));
    EXPECT_THAT(outcome.out, HasSubstr("GB held"));
    EXPECT_THAT(outcome.out, HasSubstr("top ops by self time"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("\033"))) << "terminal control";
  }
}

TEST_F(CliTop, SaysTheSameAsJson) {
  const Outcome outcome = top({"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(lines_in(outcome.out), 1U);  // nobody records: no second frame
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "stepscope.live/1");
  EXPECT_EQ(document["being_recorded"], false);
  EXPECT_EQ(document["losses"]["events"], 3);
  const Json& loop = document["loops"].at(0);
  EXPECT_EQ(loop["steps_so_far"], 60);
  EXPECT_EQ(loop["last_step_ns"], to_ns(run_.step_dur()));
  const Json analysis = Json::parse(run_stepscope({"analyze", store_, "--json"}).out);
  EXPECT_EQ(loop["shares"], analysis["shares"]);
  EXPECT_EQ(loop["verdict"]["why"], analysis["verdict"]["why"]);
  EXPECT_EQ(loop["steps"]["wall_ns"], analysis["steps"]["wall_ns"]);
}

TEST_F(CliTop, SaysOfDeathsFirst) {
  const std::string killed = dir_ / "killed.db";
  make_store(killed, {.steps = 20, .killed_by = 9});
  const Outcome outcome = run_stepscope({"top", killed, "--once"});
  std::istringstream lines(outcome.out);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_THAT(second, HasSubstr("SIGKILL"));
}

TEST_F(CliTop, SaysWhatIsWrong) {
  const Outcome none = run_stepscope({"top", dir_ / "none.db", "--once"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, StartsWith("stepscope top: "));
  EXPECT_EQ(lines_in(none.err), 1U);
  EXPECT_EQ(top({"--interval", "0"}).exit_code, 2);
}

// `top` in a terminal of its own.
class Terminal {
 public:
  Terminal(const std::string& store, unsigned short columns, unsigned short rows) {
    winsize size{rows, columns, 0, 0};
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      setenv("TERM", "xterm", 1);
      execl(STEPSCOPE_BINARY, "stepscope", "top", store.c_str(), "--interval", "0.1",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    tcgetattr(fd_, &before_);
  }
  ~Terminal() {
    if (pid_ > 0 && !ended_) kill(pid_, SIGKILL);
    close(fd_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // What it has written once `text` is in it; patient, since a sanitizer's build is slow.
  std::string read_until(const std::string& text) {
    const std::size_t from = said_.size();
    pollfd file{fd_, POLLIN, 0};
    while (said_.find(text, from) == std::string::npos && poll(&file, 1, 60'000) > 0) {
      char buffer[4096];
      const ssize_t got = read(fd_, buffer, sizeof buffer);
      if (got <= 0) break;
      said_.append(buffer, static_cast<std::size_t>(got));
    }
    return said_.substr(from);
  }
  void type(const char* keys) { ASSERT_GT(write(fd_, keys, std::strlen(keys)), 0); }
  void signal(int number) const { kill(pid_, number); }
  void resize(unsigned short columns, unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    ioctl(fd_, TIOCSWINSZ, &size);
  }
  int exit_code() {
    read_until("\033[?1049l");
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] bool is_as_before() const {
    termios now{};
    tcgetattr(fd_, &now);
    return now.c_lflag == before_.c_lflag;
  }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  bool ended_ = false;
  termios before_{};
  std::string said_;
};

TEST_F(CliTop, RefreshesOnTheAlternateScreenUntilQ) {
  Terminal terminal(store_, 100, 40);
  EXPECT_THAT(terminal.read_until("q quits"), HasSubstr("\033[?1049h"));
  EXPECT_THAT(terminal.read_until("q quits"), StartsWith("\033"));  // another frame
  EXPECT_FALSE(terminal.is_as_before());
  terminal.type("q");
  EXPECT_EQ(terminal.exit_code(), 0);
  EXPECT_THAT(terminal.said(), HasSubstr("\033[?25h\033[?1049l"));
  EXPECT_TRUE(terminal.is_as_before());
  EXPECT_THAT(terminal.said(), Not(HasSubstr("\033[2J"))) << "a screen that is cleared flickers";
}

TEST_F(CliTop, LeavesTheTerminalAsItWasWhateverEndsIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Terminal terminal(store_, 100, 40);
    terminal.read_until("q quits");
    terminal.signal(signal);
    EXPECT_EQ(terminal.exit_code(), 0) << signal;
    EXPECT_THAT(terminal.said(), HasSubstr("\033[?25h\033[?1049l")) << signal;
    EXPECT_TRUE(terminal.is_as_before()) << signal;
  }
}

TEST_F(CliTop, TakesCtrlC) {
  Terminal terminal(store_, 100, 40);
  terminal.read_until("q quits");
  terminal.type("\x03");
  EXPECT_EQ(terminal.exit_code(), 0);
  EXPECT_TRUE(terminal.is_as_before());
}

TEST_F(CliTop, FollowsTheSizeOfTheTerminal) {
  Terminal terminal(store_, 100, 12);
  const std::string small = terminal.read_until("q quits");
  EXPECT_EQ(std::count(small.begin(), small.end(), '\n'), 11);
  EXPECT_THAT(small, Not(HasSubstr("top ops")));
  terminal.resize(100, 45);
  EXPECT_THAT(terminal.read_until("top ops"), HasSubstr("top ops"));
  terminal.type("q");
  EXPECT_EQ(terminal.exit_code(), 0);
}

}  // namespace
}  // namespace stepscope::testing

// Which processes reach the recorder, and which of them it takes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "profiler/channel/client.h"
#include "profiler/channel/listener.h"
#include "profiler/channel/socket_address.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

constexpr uid_t kNobody = 65534;

bool become_nobody() { return setgid(kNobody) == 0 && setuid(kNobody) == 0; }

class WhoMayJoinTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = Listener::open();
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    listener_ = *std::move(listener);
    setenv(kSocketVariable, listener_->path().c_str(), 1);
  }
  void TearDown() override { unsetenv(kSocketVariable); }

  // Forks a process that joins after `before`, which says whether it could be done.
  static pid_t start(const std::function<bool()>& before) {
    const pid_t pid = fork();
    if (pid == 0) _exit(!before() ? 2 : connect_to_recorder(nullptr) ? 0 : 1);
    return pid;
  }
  // The first process that comes; or why it was refused.
  Result<Listener::Arrival> accept() {
    Result<std::optional<Listener::Arrival>> arrival = std::optional<Listener::Arrival>();
    while (arrival.ok() && !arrival->has_value())
      arrival = listener_->accept(lay_out_region(0), RecordPlan{}, 1'000);
    if (!arrival.ok()) return arrival.status();
    unmap_region((**arrival).region);
    return std::move(**arrival);
  }
  // What a process exited with.
  static int end_of(pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::unique_ptr<Listener> listener_;
};

TEST_F(WhoMayJoinTest, AProcessWhenTheSocketsFolderIsGone) {
  std::filesystem::remove_all(std::filesystem::path(listener_->path()).parent_path());
  const pid_t pid = start([] { return true; });
  const auto arrival = accept();
  ASSERT_TRUE(arrival.ok()) << arrival.status().message();
  EXPECT_EQ(arrival->pid, pid);
  EXPECT_TRUE(arrival->memory);
  EXPECT_EQ(end_of(pid), 0);
}

TEST_F(WhoMayJoinTest, AProcessInAnotherRootFolder) {
  if (getuid() != 0) GTEST_SKIP() << "only root may change the root folder";
  const testing::TempDir dir;
  const pid_t pid = start([&] { return chroot(dir.path().c_str()) == 0 && chdir("/") == 0; });
  const auto arrival = accept();
  ASSERT_TRUE(arrival.ok()) << arrival.status().message();
  EXPECT_EQ(arrival->pid, pid);
  EXPECT_EQ(end_of(pid), 0);
}

TEST_F(WhoMayJoinTest, ADescendantUnderAnotherUser) {
  if (getuid() != 0) GTEST_SKIP() << "only root may change its user";
  const pid_t pid = start(become_nobody);
  const auto arrival = accept();
  ASSERT_TRUE(arrival.ok()) << arrival.status().message();
  EXPECT_EQ(arrival->pid, pid);
  EXPECT_EQ(end_of(pid), 0);
}

// Whatever its user: it may be in a container that shares our network.
TEST_F(WhoMayJoinTest, NotAProcessThatTheProgramDidNotStart) {
  std::filesystem::remove_all(std::filesystem::path(listener_->path()).parent_path());
  int joined[2];
  ASSERT_EQ(pipe2(joined, O_CLOEXEC), 0);
  // Its parent ends at once, so it descends from init.
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t before = getpid();
    if (fork() > 0) _exit(0);
    while (getppid() == before) usleep(1000);
    const bool has_joined = static_cast<bool>(connect_to_recorder(nullptr));
    _exit(write(joined[1], &has_joined, 1) == 1 ? 0 : 1);
  }
  EXPECT_EQ(end_of(parent), 0);
  pollfd answer{joined[0], POLLIN, 0};
  while (poll(&answer, 1, 1) == 0) {
    const auto arrival = listener_->accept(lay_out_region(0), RecordPlan{}, 1'000);
    ASSERT_TRUE(arrival.ok()) << arrival.status().message();
    EXPECT_FALSE(arrival->has_value());
  }
  bool has_joined = true;
  EXPECT_EQ(read(joined[0], &has_joined, 1), 1);
  EXPECT_FALSE(has_joined);
  close(joined[0]);
  close(joined[1]);
}

TEST_F(WhoMayJoinTest, AnotherUserCannotSwitchOps) {
  if (getuid() != 0) GTEST_SKIP() << "only root may change its user";
  const pid_t pid = fork();
  if (pid == 0) {
    if (!become_nobody()) _exit(2);
    const auto said = ask_recorder(listener_->path(), ControlCommand::kStopOps);
    _exit(!said.ok() && said.status().message().find("of another user") != std::string::npos ? 0
                                                                                             : 1);
  }
  EXPECT_EQ(end_of(pid), 0);
}

// Who listens under the name of a recorder that has ended would get descriptors of the memory.
TEST_F(WhoMayJoinTest, AProcessTellsAnotherUsersListenerNothing) {
  if (getuid() != 0) GTEST_SKIP() << "only root may change its user";
  const std::string path = testing::TempDir().path() / "socket";  // a folder that is gone again
  const SocketAddress address = socket_address(path, SocketPlace::kAbstract);
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t impostor = fork();
  if (impostor == 0) {
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (!become_nobody() || bind(listening, address.get(), address.size) != 0) _exit(2);
    if (listen(listening, 1) != 0 || write(ready[1], "", 1) != 1) _exit(3);
    const int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello{};
    _exit(recv(connection, &hello, sizeof(hello), 0) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  setenv(kSocketVariable, path.c_str(), 1);
  EXPECT_FALSE(connect_to_recorder(nullptr));
  EXPECT_EQ(end_of(impostor), 0) << "1: it was told";
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace stepscope

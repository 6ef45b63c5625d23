// What comes with a Hello: descriptors of the program's memory, or anything else.
#include "profiler/channel/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "profiler/channel/client.h"
#include "profiler/stacks/process_memory.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

class HelloTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = Listener::open();
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    listener_ = *std::move(listener);
  }

  // Says Hello with these descriptors; the connection, open.
  OwnedFd say_hello(const std::vector<int>& fds) {
    OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, listener_->path().c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    Hello hello{};
    hello.magic = kChannelMagic;
    hello.version = kChannelVersion;
    iovec data{&hello, sizeof(hello)};
    alignas(cmsghdr) char control[256] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      const std::size_t bytes = sizeof(int) * fds.size();
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(rights), fds.data(), bytes);
    }
    EXPECT_EQ(sendmsg(connection.get(), &message, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(hello)));
    return connection;
  }
  // The arrival; its region is unmapped already.
  Listener::Arrival accept() {
    auto arrival = listener_->accept(lay_out_region(0), RecordPlan{}, 1'000);
    EXPECT_TRUE(arrival.ok()) << arrival.status().message();
    if (!arrival.ok() || !arrival->has_value()) {
      ADD_FAILURE() << "nobody came";
      return {};
    }
    unmap_region((*arrival)->region);
    return std::move(**arrival);
  }
  static std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }

  std::unique_ptr<Listener> listener_;
};

TEST_F(HelloTest, AProgramsMemoryCanBeReadOnceItHasCome) {
  static volatile std::int64_t word = 0;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  OwnedFd hold(ends[1]);
  const OwnedFd held(ends[0]);
  const pid_t pid = fork();
  if (pid == 0) {
    hold = OwnedFd();
    setenv(kSocketVariable, listener_->path().c_str(), 1);
    word = 0x5ca1ab1e;
    const bool joined = static_cast<bool>(connect_to_recorder(nullptr));
    char none = 0;
    (void)!read(held.get(), &none, 1);  // until the test has looked
    _exit(joined ? 0 : 1);
  }
  Result<std::optional<Listener::Arrival>> arrival = std::optional<Listener::Arrival>();
  while (arrival.ok() && !arrival->has_value())
    arrival = listener_->accept(lay_out_region(0), RecordPlan{}, 1'000);
  ASSERT_TRUE(arrival.ok());
  EXPECT_EQ((*arrival)->pid, pid);
  ASSERT_TRUE((*arrival)->memory);
  ASSERT_TRUE((*arrival)->maps);
  const ProcessMemory memory(std::move((*arrival)->memory));
  EXPECT_EQ(memory.read<std::int64_t>(reinterpret_cast<std::uintptr_t>(&word)), 0x5ca1ab1e);
  EXPECT_EQ(word, 0) << "here it is another's";
  char text[64] = {};
  EXPECT_GT(read((*arrival)->maps.get(), text, sizeof(text)), 0);
  EXPECT_EQ(write((*arrival)->maps.get(), text, 1), -1) << "open for reading only";
  unmap_region((*arrival)->region);
  hold = OwnedFd();
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(HelloTest, WhoSendsNoneIsRecordedAllTheSame) {
  const OwnedFd connection = say_hello({});
  const Listener::Arrival arrival = accept();
  EXPECT_EQ(arrival.pid, getpid());
  EXPECT_FALSE(arrival.memory);
  EXPECT_FALSE(arrival.maps);
}

// To read from anything else than a file of /proc might block.
TEST_F(HelloTest, OtherFilesAreNotTakenForMemory) {
  const testing::TempDir dir;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd read_end(ends[0]), write_end(ends[1]);
  const OwnedFd file(open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const OwnedFd maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const std::vector<int> kPairs[] = {{read_end.get(), write_end.get()},
                                     {file.get(), file.get()},
                                     {file.get(), maps.get()},
                                     {maps.get(), read_end.get()}};
  const std::ptrdiff_t before = open_files();
  for (const std::vector<int>& pair : kPairs) {
    const OwnedFd connection = say_hello(pair);
    const Listener::Arrival arrival = accept();
    EXPECT_EQ(arrival.pid, getpid());
    EXPECT_FALSE(arrival.memory);
    EXPECT_FALSE(arrival.maps);
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(HelloTest, OfAnyNumberOfDescriptorsNoneStaysOpen) {
  const OwnedFd memory(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  const OwnedFd maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const std::ptrdiff_t before = open_files();
  for (const std::size_t count : {1U, 2U, 3U, 30U}) {
    std::vector<int> fds(count, maps.get());
    fds[0] = memory.get();
    const OwnedFd connection = say_hello(fds);
    const Listener::Arrival arrival = accept();
    EXPECT_EQ(static_cast<bool>(arrival.memory), static_cast<bool>(arrival.maps)) << count;
    EXPECT_EQ(static_cast<bool>(arrival.memory), count >= 2) << count;
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(HelloTest, OfWhoIsNotAcceptedNoneStaysOpen) {
  const OwnedFd maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const std::ptrdiff_t before = open_files();
  {
    OwnedFd connection = say_hello({maps.get(), maps.get()});
    connection = OwnedFd();  // gone before the answer
    const auto arrival = listener_->accept(lay_out_region(0), RecordPlan{}, 1'000);
    EXPECT_FALSE(arrival.ok());
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace stepscope

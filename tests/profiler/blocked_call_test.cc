#include "profiler/stacks/blocked_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "profiler/channel/owned_fd.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

std::string call(long number, const std::string& arguments) {
  return std::to_string(number) + arguments + "\n";
}

std::string hex(int fd) {
  char text[32];
  std::snprintf(text, sizeof(text), " 0x%x", static_cast<unsigned>(fd));
  return text;
}

TEST(BlockedCall, NamesTheCall) {
  EXPECT_EQ(blocked_call(call(SYS_futex, " 0x7f 0x80 0x0"), getpid()), "futex");
  EXPECT_EQ(blocked_call(call(SYS_clock_nanosleep, " 0x0 0x0"), getpid()), "sleep");
  EXPECT_EQ(blocked_call(call(9999, " 0x0"), getpid()), "system call 9999");
  EXPECT_EQ(blocked_call("-1 0x7ffc 0x7f00\n", getpid()), "a page fault");
}

TEST(BlockedCall, NamesWhatADescriptorLeadsTo) {
  const testing::TempDir dir;
  const std::string path = dir / "train.bin";
  std::ofstream(path) << "x";
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(blocked_call(call(SYS_read, hex(file.get()) + " 0x7f"), getpid()), "read " + path);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const OwnedFd read_end(ends[0]), write_end(ends[1]);
  EXPECT_EQ(blocked_call(call(SYS_write, hex(ends[1]) + " 0x7f"), getpid()), "write a pipe");
  EXPECT_EQ(blocked_call(call(SYS_read, " 0xffffff 0x7f"), getpid()), "read") << "it is closed";
}

TEST(BlockedCall, ARunningThreadIsBlockedInNothing) {
  EXPECT_TRUE(says_running("running\n"));
  EXPECT_FALSE(says_running(call(SYS_futex, " 0x7f")));
  for (const char* text : {"running\n", "", "nonsense", " 12"})
    EXPECT_EQ(blocked_call(text, getpid()), std::nullopt) << text;
  EXPECT_EQ(blocked_call(std::to_string(SYS_read), getpid()), "read") << "cut off";
}

}  // namespace
}  // namespace stepscope

// Which processes are found, in a folder that stands in for /proc.
#include "profiler/recorder/unjoined_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* kTorch = "7f00-7f01 r-xp 0 fe:01 7 /opt/torch/lib/libtorch_cpu.so\n";
constexpr const char* kRenamedTorch = "7f00-7f01 r-xp 0 fe:01 7 /opt/libtorch_cpu-1a2b3c4d.so\n";
constexpr const char* kStepscope = "7f02-7f03 r-xp 0 fe:01 8 /opt/lib/libstepscope.so.0.1\n";
constexpr const char* kNeither = "7f00-7f01 r-xp 0 fe:01 9 /usr/lib/libtorch_cpu_tools/libm.so\n";

class UnjoinedProcessesTest : public ::testing::Test {
 protected:
  void process(int pid, const std::string& maps, const std::string& children = "") {
    const fs::path task = proc_ / std::to_string(pid).c_str() / "task" / std::to_string(pid);
    fs::create_directories(task);
    std::ofstream(task / "children") << children;
    std::ofstream(proc_ / std::to_string(pid).c_str() / "maps") << maps;
  }
  // At this many seconds after the first search.
  std::vector<pid_t> search(std::chrono::seconds at, pid_t joined = 0) {
    return unjoined_.search(
        1, [joined](pid_t pid) { return pid == joined; }, UnjoinedProcesses::Time() + 100s + at);
  }

  const testing::TempDir proc_;
  UnjoinedProcesses unjoined_{proc_.path().string()};
};

TEST_F(UnjoinedProcessesTest, ThoseWithLibtorchAndWithoutStepscope) {
  process(1, kNeither, "2 3 4");
  process(2, kTorch);
  process(3, std::string(kTorch) + kStepscope);
  process(4, kNeither, "5");
  process(5, kRenamedTorch);
  EXPECT_THAT(search(0s), ElementsAre(2, 5));
}

TEST_F(UnjoinedProcessesTest, EachOnce) {
  process(1, kTorch);
  EXPECT_THAT(search(0s), ElementsAre(1));
  EXPECT_THAT(search(10s), IsEmpty());
}

TEST_F(UnjoinedProcessesTest, NotOneThatIsRecorded) {
  process(1, kTorch);
  EXPECT_THAT(search(0s, 1), IsEmpty());
}

TEST_F(UnjoinedProcessesTest, OneThatLoadsLibtorchLater) {
  process(1, kNeither);
  EXPECT_THAT(search(0s), IsEmpty());
  process(1, kTorch);
  EXPECT_THAT(search(1s), ElementsAre(1));
}

// Its maps are read after 1, 3, 7, 15 s and so on; the processes are searched each second.
TEST_F(UnjoinedProcessesTest, AProcessIsReadLessAndLessOften) {
  process(1, kNeither);
  for (int second = 0; second <= 3; ++second) search(std::chrono::seconds(second));
  process(1, kTorch);
  for (int second = 4; second <= 6; ++second)
    EXPECT_THAT(search(std::chrono::seconds(second)), IsEmpty()) << second;
  EXPECT_THAT(search(7s), ElementsAre(1));
}

TEST_F(UnjoinedProcessesTest, ANewProcessWithTheNumberOfAnEndedOne) {
  process(1, kNeither, "2");
  process(2, kTorch);
  EXPECT_THAT(search(0s), ElementsAre(2));
  process(1, kNeither, "");
  search(1s);
  process(1, kNeither, "2");
  EXPECT_THAT(search(2s), ElementsAre(2));
}

// A program can start processes that end at once, by the thousand.
TEST_F(UnjoinedProcessesTest, SearchesAreASecondApart) {
  process(1, kNeither);
  EXPECT_THAT(search(0s), IsEmpty());
  process(1, kNeither, "2");
  process(2, kTorch);
  EXPECT_THAT(search(0s), IsEmpty());
  EXPECT_THAT(search(1s), ElementsAre(2));
}

}  // namespace
}  // namespace stepscope

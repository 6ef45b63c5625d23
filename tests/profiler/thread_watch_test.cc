// What the recorder reads of threads and quotas, from folders that stand in for /proc and
// /sys/fs/cgroup.
#include "profiler/recorder/thread_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "profiler/recorder/cpu_group.h"
#include "store/trace_reader.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;

class ThreadWatchTest : public ::testing::Test {
 protected:
  ThreadWatchTest() { fs::create_directories(root_); }
  ~ThreadWatchTest() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void thread(int pid, int tid, const std::string& schedstat, const std::string& children = "") {
    const fs::path folder = fs::path("proc") / std::to_string(pid) / "task" / std::to_string(tid);
    write(folder / "schedstat", schedstat);
    write(folder / "comm", "t" + std::to_string(tid) + "\n");
    write(folder / "children", children);
  }
  SystemFolders system() const { return {(root_ / "proc").string(), (root_ / "cgroup").string()}; }

  const fs::path root_ = ::testing::TempDir() + "/system-" + std::to_string(getpid());
};

// "process pid tid name: run/starved …"
std::vector<std::string> told(const fs::path& store) {
  const auto reader = TraceReader::open(store);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::map<WatchedThreadId, std::string> lines;
  const auto threads = (*reader)->watched_threads();
  EXPECT_TRUE(threads.ok());
  for (const StoredWatchedThread& thread : *threads) {
    lines[thread.id] = std::to_string(static_cast<int>(thread.process)) + " " +
                       std::to_string(thread.pid) + " " + std::to_string(thread.tid) + " " +
                       thread.name + ":";
  }
  EXPECT_TRUE((*reader)
                  ->for_each_thread_reading([&](const ThreadReading& reading) {
                    lines[reading.thread] += " " + std::to_string(to_ns(reading.run)) + "/" +
                                             std::to_string(to_ns(reading.starved));
                  })
                  .ok());
  std::vector<std::string> all;
  for (const auto& [id, line] : lines) all.push_back(line);
  return all;
}

TEST_F(ThreadWatchTest, FollowsTheThreadsOfAProcessAndOfItsWorkers) {
  thread(1'000'100, 1'000'100, "5000000 0 1\n");
  thread(1'000'100, 1'000'101, "7000000 2000000 1\n", "1000200 \n");
  thread(1'000'200, 1'000'200, "9000000 1000000 1\n");
  {
    auto writer = TraceWriter::create(root_ / "run.db");
    ASSERT_TRUE(writer.ok());
    const auto process = (*writer)->add_process({1'000'100, "train", "./train"});
    ThreadWatch watch(system());
    const ThreadWatch::Root roots[] = {{1'000'100, *process}};
    ASSERT_TRUE(watch.store(**writer, roots, session_time(100)).ok());
    // The first does nothing; one has ended.
    thread(1'000'100, 1'000'101, "8000000 9000000 1\n", "1000200 \n");
    fs::remove_all(root_ / "proc" / "1000200");
    ASSERT_TRUE(watch.store(**writer, roots, session_time(200)).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  EXPECT_THAT(told(root_ / "run.db"),
              ElementsAre("1 1000100 1000100 t1000100: 5000000/0",
                          "1 1000100 1000101 t1000101: 7000000/2000000 8000000/9000000",
                          "1 1000200 1000200 t1000200: 9000000/1000000"));
}

TEST_F(ThreadWatchTest, NoProcessTakesMoreThanItsShare) {
  for (int i = 0; i < 100; ++i) thread(1'000'100, 1'000'100 + i, "5000000 0 1\n");
  {
    auto writer = TraceWriter::create(root_ / "run.db");
    const auto process = (*writer)->add_process({1'000'100, "train", "./train"});
    ThreadWatch watch(system());
    const ThreadWatch::Root roots[] = {{1'000'100, *process}};
    ASSERT_TRUE(watch.store(**writer, roots, session_time(100)).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  EXPECT_EQ(told(root_ / "run.db").size(), ThreadWatch::kMaxOfProcess);
}

TEST_F(ThreadWatchTest, AQuotaOfVersionTwoMayBeAnAncestors) {
  write("proc/50/cgroup", "0::/pod/job\n");
  write("cgroup/pod/cpu.max", "150000 100000\n");
  write("cgroup/pod/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 40\n");
  write("cgroup/pod/job/cpu.max", "max 100000\n");
  write("cgroup/pod/job/cpu.stat", "throttled_usec 9\n");
  const auto quota = CpuGroup(50, system()).read();
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->millicores, 1'500);
  EXPECT_EQ(quota->throttled_ns, 40'000);
}

TEST_F(ThreadWatchTest, AQuotaOfVersionOne) {
  write("proc/50/cgroup", "5:cpu,cpuacct:/docker/12\n3:memory:/x\n0::/\n");
  write("cgroup/cpu,cpuacct/docker/12/cpu.cfs_quota_us", "50000\n");
  write("cgroup/cpu,cpuacct/docker/12/cpu.cfs_period_us", "100000\n");
  write("cgroup/cpu,cpuacct/docker/12/cpu.stat", "nr_periods 9\nthrottled_time 1234\n");
  const auto quota = CpuGroup(50, system()).read();
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->millicores, 500);
  EXPECT_EQ(quota->throttled_ns, 1'234);
}

// In a container its own group is the root of what it sees, under a path from outside.
TEST_F(ThreadWatchTest, AContainersOwnGroupIsTheRoot) {
  write("proc/50/cgroup", "0::/kubepods/pod7/12\n");
  write("cgroup/cpu.max", "200000 100000\n");
  const auto quota = CpuGroup(50, system()).read();
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->millicores, 2'000);
}

TEST_F(ThreadWatchTest, WithoutAQuotaThereIsNone) {
  write("proc/50/cgroup", "0::/pod\n");
  write("cgroup/pod/cpu.max", "max 100000\n");
  EXPECT_FALSE(CpuGroup(50, system()).read());
  EXPECT_FALSE(CpuGroup(51, system()).read());
}

}  // namespace
}  // namespace stepscope

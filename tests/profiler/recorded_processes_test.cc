// The processes of a program come to the recorder of `stepscope run`: forks, many one after
// another, and those that it cannot take.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/recorder/run_recorder.h"
#include "tests/profiler/recorded_program.h"
#include "tests/random_runs.h"

namespace stepscope {
namespace {

class RecordedProcessesTest : public testing::RecordedProgram {};

// As when the recorder is stopped: the first child waits for it in vain, the others know.
TEST_F(RecordedProcessesTest, ASilentRecorderIsWaitedForOnce) {
  void* shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* is_silent = new (shared) std::atomic<bool>(false);
  const pid_t pid = start([this, is_silent] {
    note_scope();
    while (!*is_silent) usleep(1000);
    std::vector<std::chrono::nanoseconds> took;
    for (int i = 0; i < 4; ++i) {
      const auto began = std::chrono::steady_clock::now();
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
      took.push_back(std::chrono::steady_clock::now() - began);
    }
    // Each would take as long as the first.
    _exit(took[1] + took[2] + took[3] < took[0] ? 0 : 1);
  });
  while (recorder_->progress().phases == 0) {
    recorder_->wait({});
    recorder_->tick();
  }
  *is_silent = true;
  int status = 0;
  waitpid(pid, &status, 0);  // the recorder does nothing meanwhile
  munmap(shared, sizeof(std::atomic<bool>));
  finish(pid, status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ((*reader_->losses()).size(), 1U);
  EXPECT_EQ((*reader_->losses())[0].kind, "process");
  EXPECT_EQ(stored_lost(), 4);
}

// What a program does after its loop is not time of its steps.
TEST_F(RecordedProcessesTest, TheProgressCountsTheTimeUpToTheLatestStep) {
  void* shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* may_end = new (shared) std::atomic<bool>(false);
  const pid_t pid = start([this, may_end] {
    for (int i = 0; i < 10; ++i) {
      note_scope();
      Session::get().step();
      usleep(1000);
    }
    while (!*may_end) usleep(1000);
    _exit(0);
  });
  const auto watch = [this] {
    recorder_->wait({});
    recorder_->tick();
  };
  while (recorder_->progress().step < 10) watch();
  const std::int64_t before = recorder_->progress().looping_ns;
  for (int i = 0; i < 5; ++i) watch();
  EXPECT_EQ(recorder_->progress().looping_ns, before);
  *may_end = true;
  int status = 0;
  waitpid(pid, &status, 0);
  munmap(shared, sizeof(std::atomic<bool>));
  finish(pid, status);
}

TEST_F(RecordedProcessesTest, OnceTheRecorderIsBackChildrenAreRecorded) {
  record([this] {
    note_scope();
    RegionHeader& region = *ring_registry().region().header;
    region.silent_beat = region.heartbeat.load();
    const std::uint64_t silent = region.silent_beat;
    while (region.heartbeat == silent) usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
      note_scope();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(reader_->processes().size(), 2U);
  EXPECT_EQ(stored_lost(), 0);
}

// A recorder without a descriptor to spare refuses at once, counts all, and tells of some.
TEST_F(RecordedProcessesTest, ProcessesAreRefusedWhenNoFileCanBeOpened) {
  if (testing::kSanitized) {
    GTEST_SKIP() << "a sanitizer opens files too, and takes their lack for an error of ours";
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<OwnedFd> others;
  while (OwnedFd other{open("/dev/null", O_RDONLY | O_CLOEXEC)}) others.push_back(std::move(other));
  const pid_t pid = start([this, &before] {
    setrlimit(RLIMIT_NOFILE, &before);
    note_scope();
    for (int i = 0; i < 5; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  });
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) recorder_->tick();
  setrlimit(RLIMIT_NOFILE, &before);
  others.clear();
  finish(pid, status);
  EXPECT_EQ(stored_lost(), 6);
  const auto told = recorder_->take_notices();
  const auto one = ::testing::HasSubstr("is not recorded");
  EXPECT_THAT(told,
              ::testing::ElementsAre(one, one, one, "3 more of its processes are not recorded"));
}

// Loaders start workers anew in each epoch: what an ended process has is given back at once.
TEST_F(RecordedProcessesTest, ProcessesMayComeAndGoWithoutEnd) {
  constexpr int kProcesses = 60;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  record([this] {
    note_scope();
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(recorder_->take_notices(), ::testing::IsEmpty());
  EXPECT_EQ(reader_->processes().size(), 1U + kProcesses);
  expect_all_stored();
}

TEST_F(RecordedProcessesTest, AForkBesideBusyThreads) {
  constexpr unsigned kForks = testing::random_runs(16);
  const int status = record([this] {
    note_scope();  // joined before it has threads, as programs are
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 3; ++i) {
      busy.emplace_back([this, &stop] {
        for (; !stop; usleep(100)) note_op();
      });
    }
    int failed = 0;
    for (unsigned i = 0; i < kForks; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        for (int k = 0; k < 7; ++k) note_scope();
        _exit(0);
      }
      int child_status = 0;
      waitpid(child, &child_status, 0);
      failed += child_status != 0 ? 1 : 0;
    }
    stop = true;
    for (auto& thread : busy) thread.join();
    _exit(failed);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reader_->processes().size(), 1 + kForks);
  EXPECT_EQ((*reader_->phases()).size(), 1 + 7 * kForks);
}

// A forked child is a process of its own: it writes into a region of its own, never the parent's.
TEST_F(RecordedProcessesTest, AForkedChildIsRecordedBesideItsParent) {
  record([this] {
    note_scope();
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 10; ++i) note_scope();
      Session::get().mark_exit(0);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    note_scope();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(reader_->processes().size(), 2U);
  EXPECT_EQ((*reader_->phases()).size(), 12U);
}

// As subprocesses are started; its end is not that of its parent.
void end_a_child_that_shares_memory() {
  if (vfork() != 0) return;
  Session::get().mark_exit(3);
  _exit(3);
}

// Of a process that is not the recorder's child it is known only whether it asked for its end.
TEST_F(RecordedProcessesTest, HowAGrandchildEnds) {
  record([this] {
    for (const bool asks : {true, false}) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        end_a_child_that_shares_memory();
        if (!asks) raise(SIGKILL);
        Session::get().mark_exit(7);
        _exit(7);
      }
      waitpid(child, nullptr, 0);
    }
    note_scope();
  });
  const auto ends = reader_->process_ends();
  ASSERT_TRUE(ends.ok());
  std::vector<std::pair<EndKind, std::int64_t>> told;
  for (const ProcessEnd& end : *ends) told.emplace_back(end.how, end.code);
  using ::testing::Pair;
  EXPECT_THAT(told,
              ::testing::UnorderedElementsAre(Pair(EndKind::kExit, 7), Pair(EndKind::kSignal, 0),
                                              Pair(EndKind::kExit, 0)));
}

TEST_F(RecordedProcessesTest, TheUsersOwnRecordingLeavesItToTheWrapper) {
  const int status = record([this] {
    stepscope_options options{};
    options.output = "/nowhere/run.db";
    if (!Session::get().start(options).ok()) _exit(1);
    note_scope();
    if (!Session::get().stop().ok()) _exit(2);
    note_scope();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ((*reader_->phases()).size(), 2U);
}

TEST_F(RecordedProcessesTest, ARecorderThatIsNotThereIsNoHarm) {
  setenv(kSocketVariable, "/nowhere/socket", 1);
  const pid_t pid = fork();
  if (pid == 0) {
    Session::get().step();
    _exit(Session::get().active() ? 1 : 0);
  }
  unsetenv(kSocketVariable);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace stepscope

// Programs that come to the recorder of `stepscope run`, note events and end in many ways.
#include "profiler/recorder/run_recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/profiler/recorded_program.h"

namespace stepscope {
namespace {

class RunRecorderTest : public testing::RecordedProgram {};

// Shared memory of this process, in KiB.
std::int64_t shared_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssShmem:")) return std::stoll(line.substr(9));
  }
  return -1;
}

// Calls `work` while `count` threads are there, each of which has called `begin`.
void beside_threads(int count, const std::function<void()>& begin,
                    const std::function<void()>& work) {
  std::barrier all(count + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      begin();
      all.arrive_and_wait();
      all.arrive_and_wait();
    });
  }
  all.arrive_and_wait();
  work();
  all.arrive_and_wait();
  for (auto& thread : threads) thread.join();
}

TEST_F(RunRecorderTest, AProgramsEventsAreStored) {
  record([this] {
    for (int i = 0; i < 1000; ++i) {
      note_scope();
      note_op();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(reader_->processes().size(), 1U);
  EXPECT_EQ((*reader_->phases()).size(), 1000U);
  EXPECT_EQ(*reader_->op_count(), 1000);
  expect_all_stored();
}

// As of a server with a thread for each client: only what they note takes memory.
TEST_F(RunRecorderTest, AThreadThatNotesLittleTakesLittleMemory) {
  constexpr int kThreads = 200;
  const int status = record([this] {
    std::int64_t mib = 0;
    beside_threads(kThreads, [this] { note_op(); }, [&mib] { mib = shared_kib() / 1024; });
    _exit(static_cast<int>(std::min<std::int64_t>(mib, 255)));
  });
  EXPECT_LT(WEXITSTATUS(status), 16 * 2 + kThreads / 10);
  EXPECT_EQ(*reader_->op_count(), kThreads);
  EXPECT_EQ(stored_lost(), 0);
}

// Its ring gets memory as it is filled, and is then used anew.
TEST_F(RunRecorderTest, ALateThreadMayNoteMuch) {
  constexpr int kOthers = 20, kOps = 200'000;
  record([this] {
    const auto note_much = [this] {
      std::thread([this] {
        for (int i = 0; i < kOps; ++i) {
          note_op();
          const RingHeader& ring = current_thread()->ring();
          while (ring.head - ring.tail > 50'000) usleep(1000);
        }
      }).join();
    };
    beside_threads(kOthers, [this] { note_op(); }, note_much);
  });
  EXPECT_EQ(*reader_->op_count(), kOthers + kOps);
  EXPECT_EQ(stored_lost(), 0);
}

// On a slow disk, for as long as it writes the store's pages through.
TEST_F(RunRecorderTest, ARecorderThatIsBusyForAWhileIsWaitedFor) {
  record([this] { note_scope(); }, std::chrono::milliseconds(1500));
  EXPECT_EQ((*reader_->phases()).size(), 1U);
}

// A commit may take longer than a ring lasts.
TEST_F(RunRecorderTest, RingsAreEmptiedWhileTheRecorderIsBusy) {
  constexpr int kSlots = kDefaultRingBytes / sizeof(Slot);
  const pid_t pid = start([this] {
    note_scope();
    for (int quarter = 0; quarter < 12; ++quarter) {
      for (int i = 0; i < kSlots / 4; ++i) note_op();
      const RingHeader& ring = current_thread()->ring();
      for (int ms = 0; ring.tail != ring.head; ++ms) {
        if (ms == 20'000) _exit(1);
        usleep(1000);
      }
    }
  });
  while (recorder_->progress().processes == 0) {
    recorder_->wait({});
    recorder_->tick();
  }
  int status = 0;
  waitpid(pid, &status, 0);  // the recorder does nothing meanwhile
  finish(pid, status);
  EXPECT_EQ(status, 0) << "nobody emptied the ring";
  EXPECT_EQ(*reader_->op_count(), 12 * (kSlots / 4));
  EXPECT_EQ(stored_lost(), 0);
}

// The promise: what was written to a ring is in the store, whatever the program dies of.
TEST_F(RunRecorderTest, NothingWrittenIsLostWithTheProgram) {
  const int status = record([this] {
    for (int i = 0;; ++i) {
      note_scope();
      for (int op = 0; op < i % 7; ++op) note_op();
      if (i == 3000) raise(SIGKILL);
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_all_stored();
  const auto ends = reader_->process_ends();
  ASSERT_TRUE(ends.ok());
  ASSERT_EQ(ends->size(), 1U);
  EXPECT_EQ((*ends)[0].how, EndKind::kSignal);
  EXPECT_EQ((*ends)[0].code, SIGKILL);
}

// What samples the lines reads the regions of the programs until the last moment.
TEST_F(RunRecorderTest, ARecorderMayGoBeforeItsPrograms) {
  for (int i = 0; i < 20; ++i) {
    if (recorder_ == nullptr) recorder_ = *RunRecorder::start(path_, {}, {});
    const pid_t pid = start([this] {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      note_scope();
      pause();
    });
    while (recorder_->progress().phases == 0) {
      recorder_->wait({});
      recorder_->tick();
    }
    recorder_.reset();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    std::filesystem::remove(path_);
  }
}

// Each with a moment of its own, while it joins or long after.
class KilledAtAnyMoment : public RunRecorderTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(KilledAtAnyMoment, NothingThatWasWrittenIsMissing) {
  const auto after_us = std::mt19937(GetParam())() % 20'000;
  const int status = record([this, after_us] {
    const pid_t self = getpid();
    if (fork() == 0) {  // it joins no recording: it notes nothing
      usleep(static_cast<useconds_t>(after_us));
      kill(self, SIGKILL);
      _exit(0);
    }
    while (true) {
      note_scope();
      note_op();
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_all_stored();
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledAtAnyMoment, ::testing::Range(0U, 20U));

TEST_F(RunRecorderTest, TheOpItDiedInIsTold) {
  record([this] {
    note_scope();
    ThreadRecorder* recorder = current_thread();
    recorder->start_op({this, "outer", -1, 0, OpScope::kFunction});
    recorder->start_op({path_.data(), "inner", -1, 0, OpScope::kFunction});
    std::abort();
  });
  const auto open = reader_->unfinished_ops();
  ASSERT_TRUE(open.ok());
  ASSERT_EQ(open->size(), 2U);
  EXPECT_EQ(reader_->text((*open)[0].name), "outer");
  EXPECT_EQ(reader_->text((*open)[1].name), "inner");
}

TEST_F(RunRecorderTest, ManyShortThreadsShareFewRings) {
  record([this] {
    for (int i = 0; i < 500; ++i) std::thread([this] { note_scope(); }).join();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 500U);
  EXPECT_EQ(stored_lost(), 0);
}

TEST_F(RunRecorderTest, ThreadsThatLiveTogetherLoseNothing) {
  record([this] {
    for (int group = 0; group < 10; ++group) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([this] {
          for (int k = 0; k < 20; ++k) note_op();
          note_scope();
        });
      }
      for (auto& thread : threads) thread.join();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 80U);
  EXPECT_EQ(*reader_->op_count(), 10 * 8 * 20);
  EXPECT_EQ(stored_lost(), 0);
}

// It is made before what we keep for a thread, and so destroyed after it.
TEST_F(RunRecorderTest, ADestructorAtTheEndOfAThreadIsRecorded) {
  struct NotesAtTheEnd {
    std::function<void()> note;
    ~NotesAtTheEnd() { note(); }
  };
  record([this] {
    for (int i = 0; i < 5; ++i) {
      std::thread([this] {
        thread_local const NotesAtTheEnd late{[this] { note_scope(); }};
        note_scope();
      }).join();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 10U);
  EXPECT_EQ(stored_lost(), 0);
}

}  // namespace
}  // namespace stepscope

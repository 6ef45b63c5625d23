// The recorder of `stepscope run` and programs that come to it: forked children of this test, which
// join through the socket as any program does, note events and end in many ways.
#include "profiler/recorder/run_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/channel/channel_format.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"
#include "profiler/session/tensor_memory.h"
#include "store/trace_reader.h"

namespace stepscope {
namespace {

// What a child has written, as it counts itself; survives its death.
struct Written {
  std::atomic<std::int64_t> phases{0};
  std::atomic<std::int64_t> ops{0};
};

class RunRecorderTest : public testing::Test {
 protected:
  RunRecorderTest()
      : path_(testing::TempDir() + "/run-" + std::to_string(getpid()) + ".db"),
        written_(new (mmap(nullptr, sizeof(Written), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Written) {
    RunPlan plan;
    plan.nvml = STEPSCOPE_FAKE_NVML;
    auto recorder = RunRecorder::start(path_, {}, plan);
    EXPECT_TRUE(recorder.ok()) << recorder.status().message();
    recorder_ = *std::move(recorder);
  }
  ~RunRecorderTest() override {
    munmap(written_, sizeof(Written));
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }

  // Runs `program` in a child until it ends, recording meanwhile, or once `busy` is over. Returns
  // its wait status.
  int record(const std::function<void()>& program, std::chrono::milliseconds busy = {}) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv(kSocketVariable, recorder_->socket_path().c_str(), 1);
      program();
      _exit(0);
    }
    recorder_->program_started(pid);
    std::this_thread::sleep_for(busy);
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      recorder_->wait(-1);
      recorder_->tick();
    }
    recorder_->program_ended(pid, status, "program");
    const Status finished = recorder_->finish();
    EXPECT_TRUE(finished.ok()) << finished.message();
    auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    reader_ = *std::move(reader);
    return status;
  }

  void note_scope() {
    const OpenPhase phase = Session::get().begin_phase(PhaseKind::kScope, "work");
    Session::get().end_phase(phase, PhaseKind::kScope);
    ++written_->phases;
  }
  void note_op() {
    ThreadRecorder* recorder = current_thread();
    if (recorder == nullptr) return;
    recorder->start_op({this, "op", -1, 0, OpScope::kFunction});
    recorder->end_op(this);
    ++written_->ops;
  }

  std::int64_t stored_lost() const {
    const auto losses = reader_->losses();
    EXPECT_TRUE(losses.ok());
    std::int64_t lost = 0;
    for (const Loss& loss : *losses) lost += loss.count;
    return lost;
  }
  // Nothing that was written is missing; the event that was under way at a death may be there too.
  void expect_all_stored() const {
    const auto phases = static_cast<std::int64_t>((*reader_->phases()).size());
    const std::int64_t ops = *reader_->op_count();
    const std::int64_t wrote = written_->phases + written_->ops;
    EXPECT_GE(phases + ops + stored_lost(), wrote);
    EXPECT_LE(phases + ops + stored_lost(), wrote + 1);
  }

  std::string path_;
  Written* written_;
  std::unique_ptr<RunRecorder> recorder_;
  std::unique_ptr<TraceReader> reader_;
};

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

// What the allocator of a device said last, each device by itself.
TEST_F(RunRecorderTest, DeviceMemoryOfAProcessIsSampled) {
  record([this] {
    note_scope();  // joins
    note_device_memory(0, 1'000, 5'000);
    note_device_memory(0, 2'000, 5'000);
    note_device_memory(3, 7'000, 9'000);
    note_device_memory(-1, 1, 1);
    note_device_memory(1'000, 1, 1);
    // What made it, by the phase; one block is gone again, one too small to be kept.
    const auto block = [](std::uintptr_t number) { return reinterpret_cast<void*>(number << 20); };
    note_device_block(3, block(1), 1 << 20);
    const OpenPhase backward = Session::get().begin_phase(PhaseKind::kBackward, "");
    note_device_block(3, block(2), 3 << 20);
    note_device_block(3, block(3), 5 << 20);
    note_device_block(3, block(4), 512);
    Session::get().end_phase(backward, PhaseKind::kBackward);
    note_device_block(3, block(3), -(5 << 20));
    note_device_block(-1, block(5), 1 << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
  });
  std::set<std::string> seen;
  ASSERT_TRUE(reader_
                  ->for_each_sample([&](const Sample& sample) {
                    const std::string name(reader_->text(sample.counter));
                    if (!name.starts_with("device_")) return true;
                    EXPECT_NE(sample.process, ProcessId::kNone);
                    seen.insert(std::to_string(sample.gpu) + " " + name + " " +
                                std::to_string(sample.value));
                    return true;
                  })
                  .ok());
  EXPECT_THAT(seen,
              testing::ElementsAre("0 device_allocated_bytes 2000", "0 device_reserved_bytes 5000",
                                   "3 device_allocated_bytes 7000", "3 device_reserved_bytes 9000",
                                   "3 device_tensor_bytes_backward 3145728",
                                   "3 device_tensor_bytes_other 1048576"));
}

// By the phase of the thread that made it; whoever frees it frees it there. What nothing was ever
// made by has no samples.
TEST_F(RunRecorderTest, TensorsAreSampledByWhatMadeThem) {
  record([this] {
    note_scope();  // joins
    const auto block = [](std::uintptr_t number) { return reinterpret_cast<void*>(number << 20); };
    note_tensor_memory(block(1), 1 << 20);
    const OpenPhase optimizer = Session::get().begin_phase(PhaseKind::kOptimizer, "");
    note_tensor_memory(block(2), 2 << 20);
    // A closure's backward pass, with an op around as autograd's threads have it.
    const OpenPhase backward = Session::get().begin_phase(PhaseKind::kBackward, "");
    note_tensor_memory(block(3), 4 << 20);
    Session::get().end_phase(backward, PhaseKind::kBackward);
    note_tensor_memory(block(4), 8 << 20);
    Session::get().end_phase(optimizer, PhaseKind::kOptimizer);
    std::thread([&] {
      note_tensor_memory_freed(block(2));
      ThreadRecorder* const recorder = current_thread();
      recorder->start_op({this, "MulBackward0", -1, 0, OpScope::kBackwardFunction});
      note_tensor_memory(block(5), 16 << 20);
      recorder->end_op(this);
    }).join();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
  });
  std::map<std::string, std::int64_t> last;
  ASSERT_TRUE(reader_
                  ->for_each_sample([&](const Sample& sample) {
                    const std::string name(reader_->text(sample.counter));
                    if (name.starts_with("cpu_tensor_bytes")) last[name] = sample.value >> 20;
                    return true;
                  })
                  .ok());
  EXPECT_THAT(last, testing::ElementsAre(testing::Pair("cpu_tensor_bytes", 1 + 4 + 8 + 16),
                                         testing::Pair("cpu_tensor_bytes_backward", 4 + 16),
                                         testing::Pair("cpu_tensor_bytes_optimizer", 8),
                                         testing::Pair("cpu_tensor_bytes_other", 1)));
}

// Loaders start workers anew in each epoch: what an ended process has is given back at once.
TEST_F(RunRecorderTest, ProcessesMayComeAndGoWithoutEnd) {
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
  EXPECT_THAT(recorder_->take_notices(), testing::IsEmpty());
  EXPECT_EQ(reader_->processes().size(), 1U + kProcesses);
  expect_all_stored();
}

// As long as the program runs, every tenth of a second; of the machine, with the GPU's number.
TEST_F(RunRecorderTest, GpusOfTheMachineAreSampled) {
  record([this] {
    note_scope();
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  });
  std::vector<std::string> seen;
  std::int64_t last = 0;
  ASSERT_TRUE(reader_
                  ->for_each_sample([&](const Sample& sample) {
                    const std::string name(reader_->text(sample.counter));
                    if (sample.gpu < 0) return true;
                    EXPECT_EQ(sample.process, ProcessId::kNone);
                    EXPECT_GT(to_ns(sample.at), 0);
                    last = std::max(last, to_ns(sample.at));
                    const std::string text = std::to_string(sample.gpu) + " " + name + " " +
                                             std::to_string(sample.value);
                    if (std::find(seen.begin(), seen.end(), text) == seen.end())
                      seen.push_back(text);
                    return true;
                  })
                  .ok());
  EXPECT_LE(last, reader_->meta_int("end_ns", 0));
  EXPECT_THAT(
      seen, testing::ElementsAre(
                "0 gpu_utilization_percent 97", "0 gpu_memory_utilization_percent 41",
                "0 gpu_memory_used_bytes 60000000000", "0 gpu_power_mw 412345",
                "0 gpu_sm_clock_mhz 1755", "0 gpu_memory_clock_mhz 2619", "0 gpu_temperature_c 64",
                "1 gpu_memory_used_bytes 5000000", "1 gpu_temperature_c 64"));
}

// On a slow disk, for as long as it writes the store's pages through.
TEST_F(RunRecorderTest, ARecorderThatIsBusyForAWhileIsWaitedFor) {
  record([this] { note_scope(); }, std::chrono::milliseconds(1500));
  EXPECT_EQ((*reader_->phases()).size(), 1U);
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

// Each with a moment of its own, while it joins or long after.
class KilledAtAnyMoment : public RunRecorderTest, public testing::WithParamInterface<unsigned> {};

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

INSTANTIATE_TEST_SUITE_P(Moments, KilledAtAnyMoment, testing::Range(0U, 20U));

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

TEST_F(RunRecorderTest, AForkBesideBusyThreads) {
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
    for (int i = 0; i < 10; ++i) {
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
  EXPECT_EQ(reader_->processes().size(), 11U);
  EXPECT_EQ((*reader_->phases()).size(), 71U);
}

// A forked child is a process of its own: it writes into a region of its own, never the parent's.
TEST_F(RunRecorderTest, AForkedChildIsRecordedBesideItsParent) {
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
TEST_F(RunRecorderTest, HowAGrandchildEnds) {
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
  using testing::Pair;
  EXPECT_THAT(told,
              testing::UnorderedElementsAre(Pair(EndKind::kExit, 7), Pair(EndKind::kSignal, 0),
                                            Pair(EndKind::kExit, 0)));
}

// Of the processes that have a loop: the one that starts them has libtorch too, and sets nothing.
TEST_F(RunRecorderTest, TheProcessesThatTrainSayHowCudnnWasSet) {
  const auto say = [](TorchSwitch benchmark, std::int64_t step) {
    RegionHeader& region = *ring_registry().region().header;
    region.cudnn_benchmark = benchmark;
    region.step = step;
  };
  record([&] {
    note_scope();
    const pid_t child = fork();
    if (child == 0) {
      note_scope();
      say(TorchSwitch::kOn, 5);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    say(TorchSwitch::kOff, 0);
  });
  EXPECT_EQ(reader_->meta("cudnn_benchmark"), "on");
}

TEST_F(RunRecorderTest, ProcessesMayDifferInHowCudnnWasSet) {
  record([&] {
    note_scope();
    ring_registry().region().header->cudnn_benchmark = TorchSwitch::kOn;
    const pid_t child = fork();
    if (child == 0) {
      note_scope();
      ring_registry().region().header->cudnn_benchmark = TorchSwitch::kOff;
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(reader_->meta("cudnn_benchmark"), "mixed");
}

TEST_F(RunRecorderTest, NobodySaidHowCudnnWasSet) {
  record([&] {
    note_scope();
    ring_registry().region().header->cudnn_benchmark = static_cast<TorchSwitch>(77);
  });
  EXPECT_EQ(reader_->meta("cudnn_benchmark"), std::nullopt);
}

TEST_F(RunRecorderTest, TheUsersOwnRecordingLeavesItToTheWrapper) {
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

TEST_F(RunRecorderTest, ARecorderThatIsNotThereIsNoHarm) {
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

TEST_F(RunRecorderTest, ItAnswersWhoAsks) {
  std::string answer;
  record([this] {
    for (int i = 0; i < 5; ++i) note_scope();
    const auto said = ask_recorder(recorder_->socket_path(), ControlCommand::kStartOps);
    if (!said.ok()) _exit(1);
    Session::get().step();
    _exit(ring_registry().region().header->ops_switch == OpsSwitch::kOn ? 42 : 2);
  });
  const auto ends = reader_->process_ends();
  ASSERT_EQ(ends->size(), 1U);
  EXPECT_EQ((*ends)[0].code, 42);
}

TEST_F(RunRecorderTest, ProcessesAreSampled) {
  record([this] {
    note_scope();
    usleep(250'000);
    Session::get().mark_exit(0);
  });
  std::int64_t memory = 0;
  const Status status = reader_->for_each_sample([&](const Sample& sample) {
    if (reader_->text(sample.counter) == "rss_bytes") memory = sample.value;
    return true;
  });
  ASSERT_TRUE(status.ok());
  EXPECT_GT(memory, 1 << 20);
}

}  // namespace
}  // namespace stepscope

// Device recording from end to end, without a device: children of this test join a recorder, as any
// program does, and use the CUDA stand-in; then the store is looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "profiler/channel/channel_format.h"
#include "profiler/cupti/collector.h"
#include "profiler/recorder/run_recorder.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"
#include "store/trace_reader.h"
#include "tests/profiler/cupti/stand_in/stand_in.h"

namespace stepscope {
namespace {

using namespace stand_in;
using testing::ElementsAre;
using testing::HasSubstr;

// void scale<float>(float*), void fill()
constexpr const char* kScale = "_Z5scaleIfEvPT_";
constexpr const char* kFill = "_Z4fillv";
constexpr std::uint64_t kTicks = 1000;

// What a step of a program is to Stepscope.
template <typename Work>
void step(Work work) {
  Session& session = Session::get();
  const OpenPhase input = session.begin_phase(PhaseKind::kInput, "loader");
  session.end_phase(input, PhaseKind::kInput);
  work();
  const OpenPhase update = session.begin_phase(PhaseKind::kOptimizer, {});
  session.end_phase(update, PhaseKind::kOptimizer);
}

template <typename Work>
void op(const char* name, Work work) {
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return work();
  recorder->start_op({&work, name, -1, 0, OpScope::kFunction});
  work();
  recorder->end_op(&work);
}

// The child's own checks, by its exit code: 1 and the line is on stderr.
void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "in the child: %s\n", what);
  _exit(1);
}

// The way a program ends: its exit handlers run.
[[noreturn]] void end_well() { std::exit(0); }

class DeviceRecordingTest : public testing::Test {
 protected:
  DeviceRecordingTest()
      : path_(testing::TempDir() + "/device-" + std::to_string(getpid()) + ".db") {}
  ~DeviceRecordingTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }

  // Runs `program` in a child and records it; not before `late`.
  int record(const std::function<void()>& program, std::chrono::milliseconds late = {}) {
    auto started = RunRecorder::start(path_, {}, plan_);
    EXPECT_TRUE(started.ok()) << started.status().message();
    RunRecorder& recorder = **started;
    const pid_t pid = fork();
    if (pid == 0) {
      setenv(kSocketVariable, recorder.socket_path().c_str(), 1);
      program();
      end_well();
    }
    recorder.program_started(pid);
    int status = 0;
    const auto begin = std::chrono::steady_clock::now();
    bool joined = false;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      recorder.wait({});
      if (joined && std::chrono::steady_clock::now() - begin < late) continue;
      recorder.tick();
      joined = recorder.progress().processes > 0;
    }
    recorder.program_ended(pid, status, "program");
    const Status finished = recorder.finish();
    EXPECT_TRUE(finished.ok()) << finished.message();
    notices_ = recorder.take_notices();
    auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    store_ = *std::move(reader);
    read_store();
    return status;
  }

  void read_store() {
    const auto keep = [](auto& into) {
      return [&into](const auto& row) {
        into.push_back(row);
        return true;
      };
    };
    ASSERT_TRUE(store_->for_each_api_call(keep(calls_)).ok());
    ASSERT_TRUE(store_->for_each_kernel(keep(kernels_)).ok());
    ASSERT_TRUE(store_->for_each_copy(keep(copies_)).ok());
    ASSERT_TRUE(store_->for_each_memset(keep(memsets_)).ok());
    ASSERT_TRUE(store_->for_each_sync(keep(syncs_)).ok());
    ASSERT_TRUE(store_->for_each_op(keep(ops_)).ok());
    const auto losses = store_->losses();
    ASSERT_TRUE(losses.ok());
    for (const Loss& loss : *losses) lost_[loss.kind] += loss.count;
  }
  std::string text(StringId id) { return std::string(store_->text(id)); }
  std::map<std::string, int> call_names() {
    std::map<std::string, int> names;
    for (const ApiCall& call : calls_) ++names[text(call.name)];
    return names;
  }

  RunPlan plan_;
  std::string path_;
  std::unique_ptr<TraceReader> store_;
  std::vector<std::string> notices_;
  std::vector<ApiCall> calls_;
  std::vector<Kernel> kernels_;
  std::vector<Copy> copies_;
  std::vector<Memset> memsets_;
  std::vector<Sync> syncs_;
  std::vector<Op> ops_;
  std::map<std::string, std::int64_t> lost_;
};

TEST_F(DeviceRecordingTest, WhatADeviceDoesIsInTheStore) {
  const int status = record([] {
    for (int i = 0; i < 3; ++i) {
      step([] {
        op("aten::to", [] { cudaMemcpyAsync_stand_in(4096, false, 7, kTicks); });
        op("aten::mul", [] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
        op("aten::zero_", [] { cudaMemsetAsync_stand_in(64, 13, kTicks); });
        op("aten::item", [] { cudaStreamSynchronize_stand_in(7); });
      });
    }
    expect(stand_in_seen().enabled_without_clock == 0,
           "the clock is CUPTI's before any kind is on");
    expect(stand_in_seen().clocks_registered == 1, "the clock is registered once");
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(notices_.empty()) << notices_[0];
  EXPECT_TRUE(lost_.empty());

  ASSERT_EQ(store_->devices().size(), 1U);
  const StoredDevice& device = store_->devices()[0];
  EXPECT_EQ(device.name, "Stand-in GPU");
  EXPECT_EQ(device.memory_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(device.max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(store_->meta("gpu_uuids"), "0:0=GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(store_->streams().size(), 2U);

  ASSERT_EQ(kernels_.size(), 3U);
  EXPECT_EQ(text(kernels_[0].name), "void scale<float>(float*)");
  EXPECT_THAT(kernels_[0].block, ElementsAre(256, 1, 1));
  ASSERT_EQ(copies_.size(), 3U);
  EXPECT_EQ(copies_[0].source, MemoryKind::kPageable);
  EXPECT_EQ(copies_[0].bytes, 4096);
  EXPECT_EQ(memsets_.size(), 3U);
  ASSERT_EQ(syncs_.size(), 3U);
  EXPECT_EQ(syncs_[0].kind, SyncKind::kStream);
  EXPECT_EQ(syncs_[0].stream, kernels_[0].stream);
  EXPECT_THAT(
      call_names(),
      ElementsAre(testing::Pair("cudaLaunchKernel", 3), testing::Pair("cudaMemcpyAsync", 3),
                  testing::Pair("cudaMemsetAsync", 3), testing::Pair("cudaStreamSynchronize", 3)));
}

// By containment, on one clock: the call lies in the op, on its thread, and has the kernel's
// number.
TEST_F(DeviceRecordingTest, AKernelIsFoundFromItsOp) {
  record([] {
    step([] {
      for (int i = 0; i < 200; ++i) {
        op("aten::mul", [] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
        op("aten::fill_", [] { cudaLaunchKernel_stand_in(kFill, 7, kTicks); });
      }
    });
  });
  ASSERT_EQ(kernels_.size(), 400U);
  std::map<std::int64_t, ApiCall> call_of;
  for (const ApiCall& call : calls_) call_of[call.correlation] = call;
  for (const Kernel& kernel : kernels_) {
    ASSERT_TRUE(call_of.contains(kernel.correlation));
    const ApiCall& call = call_of[kernel.correlation];
    EXPECT_GE(kernel.start, call.start);
    std::vector<std::string> around;
    for (const Op& one : ops_) {
      if (one.thread == call.thread && one.start <= call.start &&
          call.start + call.dur <= one.start + one.dur) {
        around.push_back(text(one.name));
      }
    }
    const bool fills = text(kernel.name) == "fill()";
    EXPECT_THAT(around, ElementsAre(fills ? "aten::fill_" : "aten::mul"));
  }
}

TEST_F(DeviceRecordingTest, AGraphIsOneCallAndManyKernels) {
  record([] { step([] { cudaGraphLaunch_stand_in(kScale, 20, 7, kTicks); }); });
  ASSERT_EQ(kernels_.size(), 20U);
  ASSERT_EQ(calls_.size(), 1U);
  for (const Kernel& kernel : kernels_) {
    EXPECT_EQ(kernel.correlation, calls_[0].correlation);
    EXPECT_EQ(kernel.graph, 1);
  }
  EXPECT_NE(kernels_[0].graph_node, kernels_[1].graph_node);
}

TEST_F(DeviceRecordingTest, AThreadWithoutAnOpHasItsCalls) {
  record(
      [] { step([] { std::thread([] { cuLaunchKernel_stand_in(kScale, 7, kTicks); }).join(); }); });
  ASSERT_EQ(calls_.size(), 1U);
  EXPECT_EQ(text(calls_[0].name), "cuLaunchKernel");
  EXPECT_EQ(kernels_.size(), 1U);
  for (const StoredThread& thread : store_->threads()) {
    if (thread.id == calls_[0].thread) {
      EXPECT_NE(thread.tid, store_->processes()[0].pid);
    }
  }
}

TEST_F(DeviceRecordingTest, CallsThatOnlyAskAreLeftOutInEachWindow) {
  plan_.record.first_step = 1;
  plan_.record.wait = 1;
  plan_.record.active = 1;
  record([] {
    for (int i = 1; i <= 6; ++i) {
      step([] {
        for (int n = 0; n < 10; ++n) cudaGetDevice_stand_in();
        cudaLaunchKernel_stand_in(kScale, 7, kTicks);
      });
    }
  });
  EXPECT_EQ(kernels_.size(), 3U);
  EXPECT_THAT(call_names(), ElementsAre(testing::Pair("cudaLaunchKernel", 3)));
}

TEST_F(DeviceRecordingTest, WhatAWindowLeftInBuffersIsAskedForOnce) {
  plan_.record.last_step = 1;
  record([] {
    step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    for (int i = 0; i < 3; ++i) step([] {});
    expect(stand_in_seen().flushes == 0, "the work of the window may not have ended");
    std::this_thread::sleep_for(std::chrono::nanoseconds(Collector::kFlushPeriodNs));
    for (int i = 0; i < 3; ++i) step([] {});
    expect(stand_in_seen().flushes == 1, "flushed once");
  });
  EXPECT_EQ(kernels_.size(), 1U);
}

TEST_F(DeviceRecordingTest, FollowsTheWindow) {
  plan_.record.first_step = 3;
  plan_.record.last_step = 4;
  record([] {
    for (int i = 1; i <= 6; ++i) {
      step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
      expect(stand_in_seen().kinds_enabled == 0 || (i >= 2 && i <= 4),
             "kinds are on in the window");
    }
  });
  EXPECT_EQ(kernels_.size(), 2U);
}

TEST_F(DeviceRecordingTest, PhasesAloneLeaveCuptiAlone) {
  plan_.record.phases_only = 1;
  record([] {
    step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    expect(stand_in_seen().subscribers == 0, "nobody has subscribed");
  });
  EXPECT_TRUE(kernels_.empty());
  EXPECT_TRUE(store_->devices().empty());
}

TEST_F(DeviceRecordingTest, ManyBuffersFromManyThreads) {
  constexpr int kThreads = 4, kEach = 10'000;
  record([] {
    step([] {
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([i] {
          for (int n = 0; n < kEach; ++n) {
            cudaLaunchKernel_stand_in(kScale, static_cast<std::uint32_t>(7 + i), 1);
            // A program that waits for its device now and then, as they do.
            if (n % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
  });
  EXPECT_EQ(static_cast<std::int64_t>(kernels_.size() + calls_.size()) + lost_["device_record"],
            2 * kThreads * kEach);
  EXPECT_GT(kernels_.size() * 10, std::size_t{kThreads * kEach});
}

// The recorder stands still, and the program goes on: what finds no buffer is counted.
TEST_F(DeviceRecordingTest, WhatFindsNoBufferIsCounted) {
  constexpr int kLaunches = 150'000;  // 36 MiB of records
  record(
      [] {
        step([] {
          for (int i = 0; i < kLaunches; ++i) {
            cudaLaunchKernel_stand_in(kScale, 7, 0);
            if (i % 10'000 == 0) stand_in_flush();
          }
        });
        expect(stand_in_seen().records_dropped > 0, "buffers ran out");
      },
      std::chrono::minutes(1));
  EXPECT_GT(lost_["device_record"], 0);
  EXPECT_EQ(static_cast<std::int64_t>(kernels_.size() + calls_.size()) + lost_["device_record"],
            2 * kLaunches);
}

TEST_F(DeviceRecordingTest, WhatTheDriverDoesBesidesIsACallOfItsThread) {
  ASSERT_EQ(record([] { step([] { stand_in_load_function(kTicks); }); }), 0);
  ASSERT_EQ(calls_.size(), 1U);
  EXPECT_EQ(text(calls_[0].name), "driver: load function");
  EXPECT_EQ(calls_[0].correlation, 0);
  EXPECT_GT(to_ns(calls_[0].dur), 0);
}

TEST_F(DeviceRecordingTest, AKilledProgramsBuffersAreRead) {
  const int status = record([] {
    step([] {
      cudaLaunchKernel_stand_in(kScale, 7, kTicks);
      stand_in_flush();       // handed over
      cudaMalloc_stand_in();  // lies in a buffer that CUPTI still has
      stand_in_keep_place();
      raise(SIGKILL);
    });
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(lost_, (std::map<std::string, std::int64_t>{{"device_record", 1}}));
  EXPECT_EQ(kernels_.size(), 1U);
  ASSERT_EQ(calls_.size(), 2U);
}

TEST_F(DeviceRecordingTest, AnotherProfilerIsLeftAlone) {
  const int status = record([] {
    stand_in_settings()->subscribe_result = 39;
    for (int i = 0; i < 3; ++i) step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    expect(stand_in_seen().kinds_enabled == 0, "nothing is enabled");
  });
  EXPECT_EQ(status, 0);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("another profiler in this process has CUPTI")));
  EXPECT_TRUE(kernels_.empty());
}

TEST_F(DeviceRecordingTest, NoDriverIsOneLine) {
  record([] {
    stand_in_settings()->subscribe_result = 15;
    for (int i = 0; i < 3; ++i) step([] {});
  });
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("no NVIDIA driver or no GPU")));
}

TEST_F(DeviceRecordingTest, NoPermissionIsOneLineAndCuptiIsFree) {
  record([] {
    stand_in_settings()->enable_result = 35;
    for (int i = 0; i < 3; ++i) step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    expect(stand_in_seen().kinds_enabled == 0, "what was enabled is disabled again");
    expect(stand_in_seen().subscribers == 0, "another profiler may come");
  });
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("may not profile the GPU")));
}

TEST_F(DeviceRecordingTest, AnUnknownCuptiIsRefusedByName) {
  record([] {
    stand_in_settings()->version = 150000;
    stand_in_settings()->sizes.bytes[static_cast<std::size_t>(ActivityKind::kKernel)] = 304;
    for (int i = 0; i < 3; ++i) step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
  });
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_THAT(notices_[0], HasSubstr("150000"));
  EXPECT_THAT(notices_[0], HasSubstr("kernel records of 304 bytes"));
}

TEST_F(DeviceRecordingTest, BuffersThatComeTooLateOrAreNotOursDoNoHarm) {
  const int status = record([] {
    step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    stand_in_complete_foreign_buffer();
    Collector::get().stop();
    expect(!stand_in_complete_late_buffer(), "no buffer is given after the end");
    stand_in_complete_foreign_buffer();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(kernels_.size(), 1U);
}

// CUDA cannot be used there, and its parent's buffers are not its own.
TEST_F(DeviceRecordingTest, AForkedChildLeavesCuptiAlone) {
  const int status = record([] {
    step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
    const pid_t child = fork();
    if (child == 0) {
      step([] {});
      _exit(stand_in_complete_late_buffer() ? 1 : 0);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    expect(ended == 0, "the child is given no buffer");
    step([] { cudaLaunchKernel_stand_in(kScale, 7, kTicks); });
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(kernels_.size(), 2U);
}

}  // namespace
}  // namespace stepscope

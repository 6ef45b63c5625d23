// What the recorder of `stepscope run` finds out about processes beside their events: samples of
// their memory and of the machine, and settings of libtorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/session/tensor_memory.h"
#include "tests/profiler/recorded_program.h"

namespace stepscope {
namespace {

class ProcessFacts : public testing::RecordedProgram {};

// What the allocator of a device said last, each device by itself.
TEST_F(ProcessFacts, DeviceMemoryOfAProcessIsSampled) {
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
  EXPECT_THAT(
      seen, ::testing::ElementsAre("0 device_allocated_bytes 2000", "0 device_reserved_bytes 5000",
                                   "3 device_allocated_bytes 7000", "3 device_reserved_bytes 9000",
                                   "3 device_tensor_bytes_backward 3145728",
                                   "3 device_tensor_bytes_other 1048576"));
}

// By the phase of the thread that made it; whoever frees it frees it there. What nothing was ever
// made by has no samples.
TEST_F(ProcessFacts, TensorsAreSampledByWhatMadeThem) {
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
  EXPECT_THAT(last, ::testing::ElementsAre(::testing::Pair("cpu_tensor_bytes", 1 + 4 + 8 + 16),
                                           ::testing::Pair("cpu_tensor_bytes_backward", 4 + 16),
                                           ::testing::Pair("cpu_tensor_bytes_optimizer", 8),
                                           ::testing::Pair("cpu_tensor_bytes_other", 1)));
}

// As long as the program runs, every tenth of a second; of the machine, with the GPU's number.
TEST_F(ProcessFacts, GpusOfTheMachineAreSampled) {
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
      seen, ::testing::ElementsAre(
                "0 gpu_utilization_percent 97", "0 gpu_memory_utilization_percent 41",
                "0 gpu_memory_used_bytes 60000000000", "0 gpu_power_mw 412345",
                "0 gpu_sm_clock_mhz 1755", "0 gpu_memory_clock_mhz 2619", "0 gpu_temperature_c 64",
                "1 gpu_memory_used_bytes 5000000", "1 gpu_temperature_c 64"));
}

// Of the processes that have a loop: the one that starts them has libtorch too, and sets nothing.
TEST_F(ProcessFacts, TheProcessesThatTrainSayHowCudnnWasSet) {
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

TEST_F(ProcessFacts, ProcessesMayDifferInHowCudnnWasSet) {
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

TEST_F(ProcessFacts, NobodySaidHowCudnnWasSet) {
  record([&] {
    note_scope();
    ring_registry().region().header->cudnn_benchmark = static_cast<TorchSwitch>(77);
  });
  EXPECT_EQ(reader_->meta("cudnn_benchmark"), std::nullopt);
}

TEST_F(ProcessFacts, ProcessesAreSampled) {
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

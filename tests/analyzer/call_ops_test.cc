// Which op a call was made in, and how calls and kernels are classed.
#include "analyzer/correlate/call_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/attribute/priority_breakdown.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "1 in aten::mm", for each call that was made in an op.
std::vector<std::string> calls_in_ops(RecordingBuilder& builder) {
  const RecordedRun recording = builder.recording();
  const auto work = DeviceWork::read(recording);
  EXPECT_TRUE(work.ok());
  CallOps calls(recording, *work);
  OpClasses classes(recording.text);
  std::vector<std::string> names{""};
  EXPECT_TRUE(recording
                  .for_each_op([&](const Op& op) {
                    names.emplace_back(recording.text(op.name));
                    calls.add(op, static_cast<std::int64_t>(names.size()) - 1, classes.of(op));
                    return true;
                  })
                  .ok());
  std::vector<std::string> found;
  for (const CallOp& call : calls.take().ops)
    found.push_back(std::to_string(call.api_call) + " in " +
                    names[static_cast<std::size_t>(call.op)]);
  return found;
}

class CallOpsTest : public ::testing::Test {
 protected:
  CallOpsTest() { builder_.stream(7); }

  RecordingBuilder builder_;
  ThreadId main_ = builder_.thread("main");
};

TEST_F(CallOpsTest, TheInnermostOpAroundTheStartOfACallIsItsOp) {
  builder_.op(main_, "aten::linear", 0, 100);
  builder_.op(main_, "aten::addmm", 20, 60);
  builder_.op(main_, "aten::relu", 100, 120);
  builder_.call(main_, "cudaLaunchKernel", 25, 28);
  builder_.call(main_, "cudaLaunchKernel", 70, 75);
  builder_.call(main_, "cudaLaunchKernel", 59, 65);  // ends after its op
  builder_.call(main_, "cudaLaunchKernel", 100,
                103);  // begins where one op ends and the next begins
  builder_.call(main_, "cudaLaunchKernel", 130, 131);  // in none
  EXPECT_THAT(calls_in_ops(builder_), ElementsAre("1 in aten::addmm", "2 in aten::linear",
                                                  "3 in aten::addmm", "4 in aten::relu"));
}

TEST_F(CallOpsTest, OnlyOpsOfTheSameThreadCount) {
  const ThreadId other = builder_.thread("other");
  builder_.op(main_, "aten::linear", 0, 100);
  builder_.call(other, "cudaLaunchKernel", 50, 60);
  EXPECT_THAT(calls_in_ops(builder_), IsEmpty());
}

TEST_F(CallOpsTest, RangesOfAProfilerAreNoOps) {
  builder_.op(main_, "ProfilerStep#3", 0, 100, OpScope::kUser);
  builder_.op(main_, "my scope", 50, 90, OpScope::kUser);
  builder_.call(main_, "cudaLaunchKernel", 10, 12);
  builder_.call(main_, "cudaLaunchKernel", 60, 62);
  EXPECT_THAT(calls_in_ops(builder_), ElementsAre("2 in my scope"));
}

TEST(CallClass, IsToldByTheNamesOfRuntimeAndDriver) {
  EXPECT_EQ(call_class("cudaLaunchKernel"), CallClass::kLaunch);
  EXPECT_EQ(call_class("cudaMemcpyAsync"), CallClass::kLaunch);
  EXPECT_EQ(call_class("cudaStreamWaitEvent"), CallClass::kLaunch);
  EXPECT_EQ(call_class("cudaMemcpy"), CallClass::kSync);
  EXPECT_EQ(call_class("cuMemcpyDtoH_v2"), CallClass::kSync);
  EXPECT_EQ(call_class("cudaDeviceSynchronize"), CallClass::kSync);
  EXPECT_EQ(call_class("cuStreamSynchronize_ptsz"), CallClass::kSync);
  EXPECT_EQ(call_class("cudaMalloc"), CallClass::kAllocation);
  EXPECT_EQ(call_class("cudaFreeHost"), CallClass::kAllocation);
  EXPECT_EQ(call_class("cuMemAlloc_v2"), CallClass::kAllocation);
}

TEST(KernelCategory, CollectiveLibrariesCommunicate) {
  EXPECT_EQ(kernel_category("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)"),
            Category::kCommunication);
  EXPECT_EQ(kernel_category("void gemm<float>(nccl_look_alike*)"), Category::kCompute);
  EXPECT_EQ(kernel_category(""), Category::kCompute);
}

// 1 µs is 1000: the view divides.
TEST(PriorityBreakdown, TheFirstThatIsLiveAnywhereWins) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  const StreamId stream = builder.stream(7);
  const auto step = [&](std::int64_t at, int number) {
    builder.phase(main, PhaseKind::kStep, at, at + 100, 0,
                  "ProfilerStep#" + std::to_string(number));
    builder.op(main, "ProfilerStep#" + std::to_string(number), at, at + 100, OpScope::kUser);
    builder.phase(main, PhaseKind::kInput, at, at + 40, 0, "train");
    builder.op(main, "aten::stack", at + 30, at + 50);
    builder.op(main, "aten::mm", at + 60, at + 90);
    builder.call(main, "cudaLaunchKernel", at + 65, at + 75, number * 10);
    builder.kernel(stream, "gemm", at + 70, at + 110, number * 10);  // ends in the next step
    builder.copies.push_back(
        {{stream, session_time(at + 20), Duration(10), 0}, CopyKind::kHostToDevice});
  };
  step(0, 5);
  step(105, 6);  // a pause of 5 before it
  const RecordedRun recording = builder.recording();
  auto loops = find_loops(recording.phases, recording.threads);
  ASSERT_EQ(loops.size(), 1u);
  loops[0].first_number = 5;
  BusyThreads busy;
  OpClasses classes(recording.text);
  ASSERT_TRUE(recording
                  .for_each_op([&](const Op& op) {
                    busy.add(op, classes.of(op));
                    return true;
                  })
                  .ok());
  const auto work = DeviceWork::read(recording);
  ASSERT_TRUE(work.ok());
  const PriorityBreakdown breakdown = priority_breakdown(recording, *work, loops, busy);
  ASSERT_EQ(breakdown.steps.size(), 2u);
  const PriorityTime& first = breakdown.steps[0];
  EXPECT_EQ(first.step, 5);
  EXPECT_EQ(first.kernel, Duration(40));      // 70-110: to the end of its last kernel
  EXPECT_EQ(first.memcpy, Duration(10));      // 20-30
  EXPECT_EQ(first.runtime, Duration(5));      // 65-70
  EXPECT_EQ(first.dataloader, Duration(30));  // 0-20, 30-40
  EXPECT_EQ(first.cpu_op, Duration(15));      // 40-50, 60-65
  EXPECT_EQ(first.other, Duration(10));       // 50-60
  const PriorityTime& second = breakdown.steps[1];
  EXPECT_EQ(second.step, 6);
  EXPECT_EQ(second.kernel, Duration(40));
  EXPECT_EQ(second.dataloader,
            Duration(25));  // 110-125, 135-145: the step begins where the last ended
  ASSERT_EQ(breakdown.devices.size(), 1u);
  EXPECT_EQ(breakdown.devices[0].kernel, Duration(80));
  EXPECT_EQ(breakdown.devices[0].span, Duration(215));
}

TEST(PriorityBreakdown, ALastStepThatLaunchedLittleIsLeftOut) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  const StreamId stream = builder.stream(7);
  std::int64_t correlation = 0;
  for (const std::int64_t launches : {10, 10, 7}) {
    const std::int64_t at = 1000 * correlation;
    builder.phase(main, PhaseKind::kStep, at, at + 900, 0, "ProfilerStep#1");
    for (std::int64_t i = 0; i < launches; ++i) {
      builder.call(main, "cudaLaunchKernel", at + i * 20, at + i * 20 + 5, ++correlation);
      builder.kernel(stream, "gemm", at + i * 20 + 6, at + i * 20 + 12, correlation);
    }
  }
  const RecordedRun recording = builder.recording();
  const auto loops = find_loops(recording.phases, recording.threads);
  const auto work = DeviceWork::read(recording);
  ASSERT_TRUE(work.ok());
  const PriorityBreakdown breakdown = priority_breakdown(recording, *work, loops, {});
  EXPECT_EQ(breakdown.steps.size(), 2u);
}

}  // namespace
}  // namespace stepscope::testing

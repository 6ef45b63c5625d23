// What launched the work of devices, and what the analyzer works out for the views on it.
#include "analyzer/device/device_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kMainTorchId = 1;

class DeviceFactsTest : public ::testing::Test {
 protected:
  // An op of the forward pass with the number of the next autograd node.
  void forward(const std::string& name, std::int64_t start, std::int64_t end,
               std::int64_t sequence) {
    builder_.op(main_, name, start, end);
    builder_.ops().back().sequence = sequence;
  }
  void node(ThreadId thread, const std::string& name, std::int64_t start, std::int64_t end,
            std::int64_t sequence) {
    builder_.op(thread, name, start, end, OpScope::kBackwardFunction);
    builder_.ops().back().sequence = sequence;
    builder_.ops().back().forward_thread = kMainTorchId;
  }
  void step_phases(std::int64_t at) {
    builder_.phase(main_, PhaseKind::kInput, at, at + 100);
    builder_.phase(main_, PhaseKind::kBackward, at + 200, at + 300);
    builder_.phase(main_, PhaseKind::kOptimizer, at + 300, at + 400);
  }
  void launch(ThreadId thread, std::int64_t at, std::int64_t correlation) {
    builder_.call(thread, "cudaLaunchKernel", at, at + 2, correlation);
    builder_.kernel(stream_, "k" + std::to_string(correlation), at + 100, at + 101, correlation);
  }

  DeviceFacts facts() {
    RecordedRun recording = builder_.recording();
    for (StoredThread& thread : recording.threads) {
      if (thread.id == main_) thread.torch_id = kMainTorchId;
    }
    if (!recording.devices.empty()) {
      recording.devices[0].compute_major = 7;
      recording.devices[0].compute_minor = 0;
    }
    auto report = analyze(recording);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report->device_facts;
  }

  // "7: aten::mm in MmBackward0 of aten::matmul", "-" for what there is none of.
  std::vector<std::string> origins() {
    std::vector<std::string> texts;
    const DeviceFacts found = facts();
    std::vector<std::string> names{"-"};
    const RecordedRun recording = builder_.recording();  // ops in the order of their ids
    for (const Op& op : builder_.ops()) names.emplace_back(recording.text(op.name));
    const auto name = [&](std::int64_t op) { return names.at(static_cast<std::size_t>(op)); };
    for (const Launch& launch : found.launches) {
      texts.push_back(std::to_string(launch.correlation) + ": " + name(launch.op) + " in " +
                      name(launch.node) + " of " + name(launch.forward_op));
    }
    return texts;
  }

  RecordingBuilder builder_;
  ThreadId main_ = builder_.thread("main");
  ThreadId autograd_ = builder_.thread("autograd");
  StreamId stream_ = builder_.stream(7);
};

// linear and t carry one number; t begins last, so it made the node, whose kernels are its
// backward.
TEST_F(DeviceFactsTest, ABackwardKernelIsThatOfTheOpThatMadeItsNode) {
  forward("aten::linear", 0, 100, 7);
  forward("aten::t", 10, 20, 7);
  forward("aten::addmm", 30, 90, 8);
  launch(main_, 40, 1);
  node(autograd_, "evaluate: AddmmBackward0", 200, 300, 8);
  node(autograd_, "AddmmBackward0", 210, 290, 8);
  builder_.op(autograd_, "aten::mm", 220, 260);
  launch(autograd_, 230, 2);  // in mm
  launch(autograd_, 270, 3);  // in the node itself
  launch(autograd_, 295, 4);  // in the engine's frame around it
  node(autograd_, "TBackward0", 310, 330, 7);
  launch(autograd_, 320, 5);
  EXPECT_THAT(
      origins(),
      ElementsAre("1: aten::addmm in - of -", "2: aten::mm in AddmmBackward0 of aten::addmm",
                  "3: AddmmBackward0 in AddmmBackward0 of aten::addmm",
                  "4: evaluate: AddmmBackward0 in evaluate: AddmmBackward0 of aten::addmm",
                  "5: TBackward0 in TBackward0 of aten::t"));
}

// A trace with whole microseconds has many ops that begin together: the inner one made the node.
TEST_F(DeviceFactsTest, OfOpsThatBeginTogetherTheInnermostMadeTheNode) {
  forward("aten::conv2d", 0, 50, 7);
  forward("aten::cudnn_convolution", 0, 40, 7);
  node(autograd_, "ConvolutionBackward0", 100, 200, 7);
  launch(autograd_, 110, 1);
  EXPECT_THAT(origins(), ElementsAre("1: ConvolutionBackward0 in ConvolutionBackward0 of "
                                     "aten::cudnn_convolution"));
}

TEST_F(DeviceFactsTest, ANodeBelongsToTheLatestOpOfItsNumberBeforeIt) {
  forward("aten::first", 0, 10, 7);
  node(autograd_, "FirstBackward0", 20, 30, 7);
  launch(autograd_, 25, 1);
  forward("aten::other", 35, 38, 8);
  forward("aten::second", 40, 50, 7);  // the numbers began anew
  node(autograd_, "SecondBackward0", 60, 70, 7);
  launch(autograd_, 65, 2);
  node(autograd_, "OtherBackward0", 80, 90, 9);  // whose op was not recorded
  launch(autograd_, 85, 3);
  EXPECT_THAT(origins(), ElementsAre("1: FirstBackward0 in FirstBackward0 of aten::first",
                                     "2: SecondBackward0 in SecondBackward0 of aten::second",
                                     "3: OtherBackward0 in OtherBackward0 of -"));
}

TEST_F(DeviceFactsTest, AThreadWithoutAnOpIsSaidToHaveNone) {
  launch(builder_.thread("pump"), 10, 1);
  builder_.kernel(stream_, "unknown", 50, 60, 99);  // whose call was not recorded
  EXPECT_THAT(origins(), ElementsAre("1: - in - of -"));
}

TEST_F(DeviceFactsTest, AGraphLaunchHasManyActivities) {
  builder_.op(main_, "replay", 0, 50);
  builder_.call(main_, "cudaGraphLaunch", 10, 20, 5);
  for (const std::int64_t at : {100, 110, 120}) builder_.kernel(stream_, "k", at, at + 5, 5);
  const std::vector<Launch> launches = facts().launches;
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].activities, 3);
  EXPECT_EQ(launches[0].op, 1);
}

TEST_F(DeviceFactsTest, ACallWithinACallCountsOnce) {
  builder_.call(main_, "cuLaunchKernel", 12, 18, 5);
  builder_.call(main_, "cudaLaunchKernel", 10, 20, 5);
  builder_.kernel(stream_, "k", 100, 110, 5);
  const std::vector<Launch> launches = facts().launches;
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].api_call, 2);  // the outer one
}

TEST_F(DeviceFactsTest, WhatTakesNoTimeWasLaunchedToo) {
  builder_.call(main_, "cudaLaunchKernel", 10, 20, 5);
  builder_.kernel(stream_, "k", 100, 100, 5);
  EXPECT_EQ(facts().launches.size(), 1u);
}

TEST_F(DeviceFactsTest, TheLoopsPhaseIsThatOfTheLaunchToo) {
  builder_.phase(main_, PhaseKind::kInput, 0, 10);
  builder_.phase(main_, PhaseKind::kBackward, 20, 60);
  builder_.phase(main_, PhaseKind::kOptimizer, 60, 90);
  builder_.phase(main_, PhaseKind::kInput, 100, 110);
  launch(autograd_, 30, 1);  // for the loop's backward pass
  launch(main_, 70, 2);
  launch(main_, 500, 3);  // after the last step
  std::vector<PhaseKind> phases;
  for (const Launch& launch : facts().launches) phases.push_back(launch.phase);
  EXPECT_THAT(phases, ElementsAre(PhaseKind::kBackward, PhaseKind::kOptimizer, PhaseKind::kNone));
}

TEST_F(DeviceFactsTest, CopiesOverlapWithKernelsOfTheirDeviceOnly) {
  const StreamId copies = builder_.stream(8);
  const StreamId elsewhere = builder_.stream(7, 1);
  const auto copy = [&](StreamId stream, std::int64_t start, std::int64_t end) {
    builder_.copies.push_back(
        {{stream, session_time(start), Duration(end - start), 0}, CopyKind::kHostToDevice});
  };
  builder_.kernel(stream_, "a", 100, 150);
  builder_.kernel(builder_.stream(9), "b", 140, 200);  // overlaps with a: no instant counts twice
  builder_.kernel(stream_, "c", 300, 310);
  copy(copies, 120, 320);     // 80 behind a and b, 10 behind c
  copy(copies, 220, 280);     // alone
  copy(elsewhere, 100, 200);  // on a device that does nothing else
  std::vector<std::int64_t> overlaps;
  for (const CopyOverlap& overlap : facts().overlaps) overlaps.push_back(to_ns(overlap.kernel));
  EXPECT_THAT(overlaps, ElementsAre(90, 0, 0));
}

// A report is about the analysed steps, so the first one's copies, which warm up, are left out.
TEST_F(DeviceFactsTest, AReportHasTheCopiesOfItsSteps) {
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t at = step * 1000;
    step_phases(at);
    builder_.call(main_, "cudaMemcpyAsync", at + 110, at + 112, 10 * step + 1);
    builder_.copies.push_back({{stream_, session_time(at + 120), Duration(50), 10 * step + 1},
                               CopyKind::kHostToDevice,
                               MemoryKind::kPageable,
                               MemoryKind::kDevice,
                               4'000});
    builder_.call(main_, "cudaLaunchKernel", at + 114, at + 116, 10 * step + 2);
    builder_.kernel(builder_.stream(9), "k", at + 150, at + 400, 10 * step + 2);
  }
  builder_.phase(main_, PhaseKind::kInputEnd, 4000, 4010);
  const auto report = analyze(builder_.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  const auto steps = static_cast<std::int64_t>(loop.analysed.size());
  EXPECT_EQ(steps, 3);
  ASSERT_EQ(loop.copies.size(), 1u);
  EXPECT_EQ(loop.copies[0].source, MemoryKind::kPageable);
  EXPECT_EQ(loop.copies[0].stream, 7);
  EXPECT_EQ(loop.copies[0].calls, steps);
  EXPECT_EQ(loop.copies[0].bytes, steps * 4'000);
  EXPECT_EQ(loop.copies[0].total_ns, steps * 50);
  EXPECT_EQ(loop.copies[0].kernel_ns, steps * 20);
}

// 1 for 100 ns and 0.75 for 300 ns.
TEST_F(DeviceFactsTest, TheOccupancyOfANameIsWeightedByTime) {
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = step * 1000;
    step_phases(at);
    builder_.call(main_, "cudaLaunchKernel", at + 110, at + 112, step + 1);
    for (const std::int64_t registers : {32, 37}) {
      const std::int64_t start = registers == 32 ? at + 150 : at + 400;
      builder_.kernel(stream_, "k", start, start + (registers == 32 ? 100 : 300), step + 1);
      builder_.kernels.back().block = {128, 1, 1};
      builder_.kernels.back().registers = static_cast<std::int32_t>(registers);
    }
  }
  RecordedRun recording = builder_.recording();
  recording.devices[0].compute_major = 7;
  const auto report = analyze(recording);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->loops.at(0).kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(report->loops[0].kernels[0].occupancy.value(), 0.8125);
  EXPECT_EQ(report->loops[0].kernels[0].tensor_cores, std::nullopt);
}

TEST_F(DeviceFactsTest, AStreamIsBusyWhenAnythingRunsThere) {
  builder_.kernel(stream_, "a", 100, 150);
  builder_.kernel(stream_, "b", 120, 160);  // a branch of a graph
  builder_.kernel(stream_, "c", 200, 210);
  builder_.memsets.push_back({{builder_.stream(8), session_time(300), Duration(100), 0}, 64});
  const std::vector<StreamTime> streams = facts().streams;
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].busy, Duration(70));
  EXPECT_EQ(streams[1].busy, Duration(100));
  EXPECT_EQ(streams[0].span, Duration(300));  // of the device: 100 to 400
  EXPECT_EQ(streams[1].span, Duration(300));
}

TEST_F(DeviceFactsTest, OccupancyIsWorkedOutOnceAShape) {
  for (const std::int64_t at : {0, 10, 20}) {
    builder_.kernel(stream_, "gemm", at, at + 5);
    builder_.kernels.back().block = {16, 8, 1};
    builder_.kernels.back().registers = at == 20 ? 37 : 32;
  }
  const std::vector<Occupancy> shapes = facts().occupancies;
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].block_threads, 128);
  EXPECT_EQ(shapes[0].occupancy, 1);
  EXPECT_EQ(shapes[1].registers, 37);
  EXPECT_EQ(shapes[1].blocks, 12);
  EXPECT_EQ(shapes[1].occupancy, 0.75);
  EXPECT_EQ(shapes[1].limited_by, "registers");
}

TEST_F(DeviceFactsTest, NamesThatTellNothingHaveNoRow) {
  builder_.kernel(stream_, "volta_sgemm_128x64_nt", 0, 10);
  EXPECT_THAT(facts().kernel_names, IsEmpty());
  builder_.kernel(stream_, "ampere_s16816gemm_fp16", 20, 30);
  const std::vector<KernelName> names = facts().kernel_names;
  ASSERT_EQ(names.size(), 1u);
  EXPECT_TRUE(names[0].tensor_cores);
}

TEST(DeviceFacts, ThereAreNoneWithoutADevice) {
  RecordingBuilder builder;
  builder.op(builder.thread("main"), "aten::mm", 0, 10);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->device_facts.launches, IsEmpty());
  EXPECT_THAT(report->device_facts.streams, IsEmpty());
}

}  // namespace
}  // namespace stepscope::testing

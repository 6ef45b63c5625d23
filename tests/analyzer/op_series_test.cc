// The course of each op over a loop: nothing is lost on the way from the single steps to the
// blocks.
#include "analyzer/attribute/op_series.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/analyze.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

Segment segment_of(std::uint32_t name, PhaseKind phase, std::int64_t ns,
                   Category category = Category::kCompute) {
  Segment segment;
  segment.range = {session_time(0), session_time(ns)};
  segment.category = category;
  segment.phase = phase;
  segment.op = StringId(name);
  return segment;
}

TEST(OpSeries, AStepIsABlockWhileThereAreFew) {
  OpSeries series;
  series.add(segment_of(3, PhaseKind::kForward, 40));
  series.add(segment_of(3, PhaseKind::kForward, 2, Category::kLaunch));
  series.add_call(StringId(3), PhaseKind::kForward);
  series.add_call(StringId(3), PhaseKind::kBackward);
  series.end_step(1, true);
  series.add(segment_of(3, PhaseKind::kForward, 50));
  series.end_step(2, true);
  const auto blocks = series.take_blocks();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].first, 1u);
  EXPECT_EQ(blocks[0].last, 1u);
  ASSERT_EQ(blocks[0].ops.size(), 2u) << "forward and backward";
  EXPECT_EQ(blocks[0].ops[0].self, Duration(42));
  EXPECT_EQ(blocks[0].ops[0].launch, Duration(2));
  EXPECT_EQ(blocks[0].ops[0].calls, 1);
  ASSERT_EQ(blocks[1].ops.size(), 1u);
  EXPECT_EQ(blocks[1].ops[0].self, Duration(50));
}

TEST(OpSeries, AStepThatDoesNotCountLeavesNoTrace) {
  OpSeries series;
  series.add(segment_of(1, PhaseKind::kForward, 40));
  series.end_step(0, false);
  series.add(segment_of(2, PhaseKind::kForward, 7));
  series.end_step(1, true);
  const auto blocks = series.take_blocks();
  ASSERT_EQ(blocks.size(), 1u);
  ASSERT_EQ(blocks[0].ops.size(), 1u);
  EXPECT_EQ(blocks[0].ops[0].name, StringId(2));
}

TEST(OpSeries, BlocksStayBoundedAndHoldEveryStepOnce) {
  for (const std::size_t steps : {2 * kMaxOpBlocks, 2 * kMaxOpBlocks + 1, 9 * kMaxOpBlocks + 5}) {
    OpSeries series;
    std::mt19937 random(7);
    std::map<StringId, Duration> truth;
    for (std::size_t i = 0; i < steps; ++i) {
      for (unsigned n = 0; n < 3; ++n) {
        const auto name = static_cast<std::uint32_t>(1 + random() % 9);
        const auto ns = static_cast<std::int64_t>(random() % 1000);
        series.add(segment_of(name, PhaseKind::kForward, ns));
        truth[StringId(name)] += Duration(ns);
      }
      series.end_step(i, true);
    }
    const auto blocks = series.take_blocks();
    EXPECT_LE(blocks.size(), 2 * kMaxOpBlocks);
    EXPECT_GT(blocks.size(), kMaxOpBlocks);
    std::size_t next = 0;
    std::map<StringId, Duration> sums;
    for (const OpBlock& block : blocks) {
      EXPECT_EQ(block.first, next);
      EXPECT_EQ(block.last + 1 - block.first, block.steps);
      next = block.last + 1;
      for (const OpCost& cost : block.ops) sums[cost.name] += cost.self;
    }
    EXPECT_EQ(next, steps);
    EXPECT_EQ(sums, truth) << steps;
  }
}

// 30 steps of 100 with an op of i + 1 ns in step i, on the loop thread; the first is warm-up.
RecordedRun steps_of_growing_ops(RecordingBuilder& builder) {
  const ThreadId main = builder.thread("main");
  for (std::int64_t i = 0; i < 30; ++i) {
    const std::int64_t start = i * 100;
    builder.phase(main, PhaseKind::kInput, start, start + 10);
    builder.op(main, "aten::mm", start + 20, start + 21 + i);
    builder.phase(main, PhaseKind::kBackward, start + 60, start + 70);
    builder.phase(main, PhaseKind::kOptimizer, start + 80, start + 90);
  }
  return builder.recording();
}

TEST(OpSamples, AddUpToTheRowsOfTheReport) {
  RecordingBuilder builder;
  AnalyzeOptions options;
  options.op_samples = true;
  const auto report = analyze(steps_of_growing_ops(builder), options);
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  EXPECT_EQ(loop.op_blocks.size(), loop.analysed.size());
  ASSERT_EQ(loop.ops.size(), 1u);
  const OpRow& row = loop.ops[0];
  std::int64_t self = 0, calls = 0;
  for (const OpSample& sample : row.samples) {
    self += sample.self_ns;
    calls += sample.calls;
  }
  EXPECT_EQ(self, row.self_ns);
  EXPECT_EQ(calls, row.calls);
  EXPECT_EQ(row.samples.at(3).self_ns, 5) << "of the fifth step, the fourth that counts";
}

TEST(OpSamples, AreOfTheStepsAskedFor) {
  RecordingBuilder builder;
  AnalyzeOptions options;
  options.op_samples = true;
  options.steps = StepSpan{10, 12};
  const auto report = analyze(steps_of_growing_ops(builder), options);
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  EXPECT_EQ(loop.op_blocks, (std::vector<std::int64_t>{1, 1, 1}));
  ASSERT_EQ(loop.ops.at(0).samples.size(), 3u);
  EXPECT_EQ(loop.ops[0].samples[0].self_ns, 10);
}

// A kernel of i + 1 ns that step i launched; it counts in the step that it began in.
TEST(OpSamples, KernelsHaveACourseToo) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  const StreamId stream = builder.stream(7);
  for (std::int64_t i = 0; i < 30; ++i) {
    builder.call(main, "cudaLaunchKernel", i * 100 + 25, i * 100 + 27, i + 1);
    builder.kernel(stream, "gemm", i * 100 + 30, i * 100 + 31 + i, i + 1);
  }
  AnalyzeOptions options;
  options.op_samples = true;
  const auto report = analyze(steps_of_growing_ops(builder), options);
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  EXPECT_EQ(loop.kernel_blocks.size(), loop.analysed.size());
  ASSERT_EQ(loop.kernels.size(), 1u);
  const KernelRow& row = loop.kernels[0];
  std::int64_t total = 0, calls = 0;
  for (const OpSample& sample : row.samples) {
    total += sample.self_ns;
    calls += sample.calls;
  }
  EXPECT_EQ(total, row.total_ns);
  EXPECT_EQ(calls, row.calls);
  EXPECT_EQ(row.samples.at(3).self_ns, 5) << "of the fifth step, the fourth that counts";
}

TEST(OpSamples, AreNotKeptUnlessAskedFor) {
  RecordingBuilder builder;
  const auto report = analyze(steps_of_growing_ops(builder));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->loops.at(0).op_blocks.empty());
  EXPECT_TRUE(report->loops.at(0).ops.at(0).samples.empty());
}

}  // namespace
}  // namespace stepscope::testing

// Loops that hand their work to a device without ever waiting for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/steps/warm_up.h"
#include "tests/analyzer/recording_builder.h"
#include "tests/store/assert_ok.h"

namespace stepscope {
namespace {

constexpr std::int64_t kHostNs = 270'000, kDeviceNs = 3'430'000;
constexpr std::size_t kQueued = 102;  // calls, until the queue is full

// A loop's steps, and when the device ended the work of each.
struct Loop {
  std::vector<TimeRange> steps;
  std::vector<std::optional<SessionTime>> ends;

  // Ends no earlier than `not_before`, so as to wait for the device.
  void add(std::int64_t host_ns, std::int64_t not_before = 0) {
    const std::int64_t start = steps.empty() ? 0 : to_ns(steps.back().end);
    const std::int64_t end = std::max(start + host_ns, not_before);
    steps.push_back({session_time(start), session_time(end)});
    const std::int64_t begun = std::max(start, ends.empty() ? 0 : to_ns(*ends.back()));
    ends.emplace_back(session_time(begun + kDeviceNs));
  }
  [[nodiscard]] std::int64_t end_of(std::size_t step) const { return to_ns(*ends[step]); }
  [[nodiscard]] std::size_t ran_ahead() const { return run_ahead_steps(steps, ends); }
};

Loop never_waits(std::size_t count) {
  Loop loop;
  for (std::size_t i = 0; i < count; ++i)
    loop.add(kHostNs, i < kQueued ? 0 : loop.end_of(i - kQueued));
  return loop;
}

TEST(RunAhead, StepsUntilTheQueueIsFull) {
  const std::size_t ahead = never_waits(500).ran_ahead();
  EXPECT_GT(ahead, kQueued * 9 / 10);
  // Meanwhile the device works, so that the queue takes longer to fill.
  EXPECT_LE(ahead, kQueued * kDeviceNs / (kDeviceNs - kHostNs) + 1);
}

TEST(RunAhead, NoneIfTheQueueNeverFills) {
  for (const std::size_t count : {1U, 20U, 80U, 100U, 108U}) {
    EXPECT_EQ(never_waits(count).ran_ahead(), 0u) << count;
  }
  EXPECT_EQ(Loop().ran_ahead(), 0u);
}

TEST(RunAhead, NoneIfTheLoopWaitsInEachStepOrNowAndThen) {
  for (const std::size_t every : {1U, 10U, 60U}) {
    Loop loop;
    for (std::size_t i = 0; i < 500; ++i) {
      const bool waits = i > 0 && i % every == 0;
      loop.add(kHostNs, waits ? loop.end_of(i - 1) : 0);
    }
    EXPECT_EQ(loop.ran_ahead(), 0u) << every;
  }
}

TEST(RunAhead, NoneIfEachStepWaitsForItsOwnWork) {
  Loop loop;
  for (int i = 0; i < 50; ++i) {
    loop.add(kHostNs + kDeviceNs);
    loop.ends.back() = loop.steps.back().end - Duration(1'000);
  }
  EXPECT_EQ(loop.ran_ahead(), 0u);
}

TEST(RunAhead, NoneIfTheDeviceIsKnownInAWindowOnly) {
  Loop loop = never_waits(500);
  std::fill(loop.ends.begin() + 100, loop.ends.end(), std::nullopt);
  EXPECT_EQ(loop.ran_ahead(), 0u);
}

TEST(RunAhead, TheStepTimeIsTheDevices) {
  const Loop loop = never_waits(500);
  testing::RecordingBuilder run;
  const ThreadId thread = run.thread("main");
  run.device(0);
  const StreamId stream = run.stream(7);
  std::int64_t started = 0;
  for (std::size_t i = 0; i < loop.steps.size(); ++i) {
    const std::int64_t start = to_ns(loop.steps[i].start), end = to_ns(loop.steps[i].end);
    const auto correlation = static_cast<std::int64_t>(i + 1);
    run.phase(thread, PhaseKind::kStep, start, end);
    run.op(thread, "aten::mm", start + 1'000, end - 1'000);
    run.call(thread, "cudaLaunchKernel", start + 2'000, end - 2'000, correlation);
    started = std::max(started, start + 2'000);
    run.kernel(stream, "gemm", started, started + kDeviceNs - 2'000, correlation);
    started += kDeviceNs - 2'000;
  }
  const auto report = analyze(run.recording(), {});
  ASSERT_OK(report.status());
  ASSERT_EQ(report->loops.size(), 1u);
  EXPECT_GT(report->loops[0].warm_up, static_cast<std::int64_t>(kQueued * 9 / 10));
  EXPECT_NEAR(static_cast<double>(report->loops[0].wall.mean), double{kDeviceNs}, kDeviceNs * 0.01);
}

}  // namespace
}  // namespace stepscope

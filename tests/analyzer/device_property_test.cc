// What must hold for any run with devices, tried on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "tests/analyzer/random_device_run.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

constexpr unsigned kRuns = random_runs(300);

using Times = RandomDeviceRun::Times;

AnalysisReport report_of(RecordingBuilder& builder) {
  auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  return *std::move(report);
}

Times times_of(const Step& step, Duration StepTime::* part) {
  Times times;
  for (const StepTime& time : step.times) {
    if ((time.*part).count() != 0)
      times[{category_name(time.category), time.label}] += to_ns(time.*part);
  }
  return times;
}

std::string text(const Times& times) {
  std::string result;
  for (const auto& [key, ns] : times)
    result +=
        key.first + (key.second.empty() ? "" : ":" + key.second) + " " + std::to_string(ns) + "\n";
  return result;
}

// Devices that a run happened to give no work have no report.
const LoopReport* report_for(const AnalysisReport& report, std::int64_t device) {
  const auto it = std::find_if(report.loops.begin(), report.loops.end(), [&](const LoopReport& l) {
    return l.device != DeviceId::kNone && l.device_number == device;
  });
  return it == report.loops.end() ? nullptr : &*it;
}

TEST(DeviceAttribution, IsWhatTheDefinitionsSayInstantByInstant) {
  std::size_t compared = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RandomDeviceRun run(seed);
    const AnalysisReport report = report_of(run.builder());
    for (std::int64_t device = 0; device < run.device_count(); ++device) {
      const LoopReport* const loop = report_for(report, device);
      if (loop == nullptr) continue;
      const auto expected = run.expected(device);
      ASSERT_EQ(loop->steps.size(), expected.size()) << seed;
      for (std::size_t i = 0; i < expected.size(); ++i, ++compared) {
        EXPECT_EQ(text(times_of(loop->steps[i], &StepTime::exposed)), text(expected[i].exposed))
            << "seed " << seed << ", device " << device << ", step " << i;
        EXPECT_EQ(text(times_of(loop->steps[i], &StepTime::hidden)), text(expected[i].hidden))
            << "seed " << seed << ", device " << device << ", step " << i;
      }
    }
  }
  EXPECT_GT(compared, kRuns * 2);
}

TEST(DeviceAttribution, TimesOfAStepSumToItForEachDevice) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RandomDeviceRun run(seed);
    for (const LoopReport& loop : report_of(run.builder()).loops) {
      for (const Step& step : loop.steps) {
        std::int64_t sum = 0;
        for (const StepTime& time : step.times) sum += to_ns(time.exposed);
        EXPECT_EQ(sum, to_ns(step.dur)) << seed;
      }
    }
  }
}

void expect_same_times(RandomDeviceRun& one, RandomDeviceRun& other, unsigned seed) {
  const AnalysisReport first = report_of(one.builder());
  const AnalysisReport second = report_of(other.builder());
  ASSERT_EQ(first.loops.size(), second.loops.size());
  for (std::size_t loop = 0; loop < first.loops.size(); ++loop) {
    for (std::size_t i = 0; i < first.loops[loop].steps.size(); ++i) {
      const Step& a = first.loops[loop].steps[i];
      const Step& b = second.loops[loop].steps[i];
      EXPECT_EQ(text(times_of(a, &StepTime::exposed)), text(times_of(b, &StepTime::exposed)))
          << seed;
      EXPECT_EQ(text(times_of(a, &StepTime::hidden)), text(times_of(b, &StepTime::hidden))) << seed;
    }
    EXPECT_EQ(first.loops[loop].verdict.kind, second.loops[loop].verdict.kind);
    EXPECT_EQ(first.loops[loop].verdict.share, second.loops[loop].verdict.share);
  }
}

TEST(DeviceAttribution, ShiftingTimeChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomDeviceRun one(seed), other(seed, {.shift = 1'000'000'007});
    expect_same_times(one, other, seed);
  }
}

TEST(DeviceAttribution, RenamingStreamsChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomDeviceRun one(seed), other(seed, {.stream_numbers = 113});
    expect_same_times(one, other, seed);
  }
}

TEST(DeviceAttribution, SplittingAnOpChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomDeviceRun one(seed), other(seed, {.split_ops = true});
    expect_same_times(one, other, seed);
  }
}

// The order in which a profiler hands out what devices did says nothing.
TEST(DeviceAttribution, TheOrderOfRecordingChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomDeviceRun one(seed), other(seed);
    std::mt19937 random(seed);
    std::shuffle(other.builder().kernels.begin(), other.builder().kernels.end(), random);
    std::shuffle(other.builder().copies.begin(), other.builder().copies.end(), random);
    std::shuffle(other.builder().calls.begin(), other.builder().calls.end(), random);
    expect_same_times(one, other, seed);
  }
}

// Sweeping a step in parts, as a step of very many ops is, gives the same times.
TEST(DeviceAttribution, FramesMayEndAnywhere) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomDeviceRun run(seed);
    const RecordedRun recording = run.builder().recording();
    const auto work = DeviceWork::read(recording);
    ASSERT_TRUE(work.ok());
    const auto loops = find_loops(recording.phases, recording.threads);
    AttributeOptions options;
    options.devices = &*work;
    options.reorder_window = 5;
    const auto result = attribute(
        recording, loops, [](std::size_t, std::size_t) { return StepRole::kSteady; }, options);
    ASSERT_TRUE(result.ok());
    for (const AttributedStep& step : (*result)[0].steps) {
      for (const StepAccount& account : step.devices)
        EXPECT_EQ(account.total(), step.range.length()) << seed;
    }
  }
}

// A wait for input while the device has enough to do: however long it is, its share stays 0 and the
// other shares stay as they were.
TEST(DeviceAttribution, AHiddenWaitNeverChangesAnExposedShare) {
  const auto exposed = [](std::int64_t wait) {
    RecordingBuilder builder;
    const ThreadId main = builder.thread("main");
    const StreamId stream = builder.stream(7);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t at = i * 1000;
      if (wait > 0) builder.phase(main, PhaseKind::kInput, at, at + wait, 0, "train");
      builder.op(main, "aten::mm", at + 500, at + 540);
      builder.call(main, "cudaLaunchKernel", at + 510, at + 515, i + 1);
      builder.kernel(stream, "gemm", at + 600, at + 1580, i + 1);
      builder.phase(main, PhaseKind::kStep, at, at + 1000, 0, "ProfilerStep#" + std::to_string(i));
    }
    const AnalysisReport report = report_of(builder);
    return text(times_of(report.loops[0].steps[2], &StepTime::exposed));
  };
  EXPECT_EQ(exposed(0), "compute 980\nlaunch 20\n");
  EXPECT_EQ(exposed(10), exposed(0));
  EXPECT_EQ(exposed(480), exposed(0));
}

}  // namespace
}  // namespace stepscope::testing

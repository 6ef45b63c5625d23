// Samples as series, and what is measured on them.
#include "analyzer/counters/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/steps/stopped_steps.h"
#include "analyzer/verdict/memory_growth.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope {
namespace {

TEST(CounterSeries, IsAStraightLineBetweenReadingsAndFlatOutside) {
  CounterSeries series;
  EXPECT_EQ(series.value_at(session_time(5)), 0);
  series.add(session_time(100), 10);
  series.add(session_time(200), 30);
  series.add(session_time(300), 30);
  EXPECT_EQ(series.value_at(session_time(0)), 10);
  EXPECT_EQ(series.value_at(session_time(150)), 20);
  EXPECT_EQ(series.value_at(session_time(200)), 30);
  EXPECT_EQ(series.value_at(session_time(900)), 30);
  EXPECT_EQ(series.change({session_time(50), session_time(125)}), 5);
}

TEST(CounterSeries, MemoryIsBoundedAndNothingIsLostButResolution) {
  CounterSeries series;
  constexpr std::int64_t kReadings = 100'000;
  for (std::int64_t i = 0; i <= kReadings; ++i) series.add(session_time(10 * i), 3 * i);
  const TimeRange all{session_time(0), session_time(10 * kReadings)};
  const auto kept = series.within(all);
  EXPECT_LE(kept.size(), CounterSeries::kMaxReadings);
  EXPECT_GE(kept.size(), CounterSeries::kMaxReadings / 4);
  EXPECT_EQ(series.last(), 3 * kReadings);
  EXPECT_EQ(series.change(all), 3.0 * kReadings);
  EXPECT_NEAR(series.value_at(session_time(123'455)), 0.3 * 123'455, 1e-6);
}

SessionTime at_ms(std::int64_t ms) { return session_time(ms * 1'000'000); }

TEST(Stops, AreWhereTheProcessWasSeenStopped) {
  Stops stops;
  for (std::int64_t ms = 0; ms < 3000; ms += 100) {
    stops.add("cpu_user_ns", at_ms(ms), 0);  // idle, but read all the time
    if (ms >= 1000 && ms < 2000) stops.add("stopped", at_ms(ms), 1);
  }
  stops.sort();
  EXPECT_TRUE(stops.in({at_ms(1850), at_ms(1950)}));
  EXPECT_TRUE(stops.in({at_ms(0), at_ms(3000)}));
  EXPECT_FALSE(stops.in({at_ms(0), at_ms(1000)}));
  EXPECT_FALSE(stops.in({at_ms(2000), at_ms(3000)}));
}

// Ctrl-Z stops the recorder too.
TEST(Stops, SilenceIsOneIfNoTimeWasUsed) {
  Stops stopped, busy;
  for (const std::int64_t ms : {0, 100, 200, 5200, 5300}) {
    stopped.add("cpu_user_ns", at_ms(ms), (ms > 200 ? 220 : ms) * 1'000'000);
    busy.add("cpu_user_ns", at_ms(ms), ms * 1'000'000);
  }
  EXPECT_TRUE(stopped.in({at_ms(190), at_ms(5210)}));
  EXPECT_FALSE(stopped.in({at_ms(0), at_ms(200)}));
  EXPECT_FALSE(stopped.in({at_ms(5200), at_ms(9000)}));
  EXPECT_FALSE(busy.in({at_ms(0), at_ms(9000)}));
}

// Rank 0 waits for rank 1, which is stopped from 200 to 1,200 ms.
TEST(StoppedSteps, AreThoseThatWaitForAStoppedRankToo) {
  testing::RecordingBuilder builder;
  Loop waiting, alone, stopped;
  waiting.process = builder.process(1, 0);
  stopped.process = builder.process(2, 1);
  alone.process = builder.process(3);  // no rank
  Counters counters;
  for (const ProcessId process : {waiting.process, stopped.process, alone.process})
    for (std::int64_t ms = 0; ms < 2'000; ms += 50)
      counters.add(process, "cpu_user_ns", at_ms(ms), ms * 1'000'000);
  for (std::int64_t ms = 200; ms < 1'200; ms += 100)
    counters.add(stopped.process, "stopped", at_ms(ms), 1);
  counters.sort();
  const TimeRange usual{at_ms(0), at_ms(190)}, meanwhile{at_ms(190), at_ms(380)},
      longer{at_ms(190), at_ms(1'210)}, after{at_ms(1'210), at_ms(1'600)};
  const RecordedRun recording = builder.recording();
  const auto contained = [&](Loop& loop) {
    loop.steps = {usual, usual, usual, longer, usual};
    const StoppedSteps steps(recording, counters, loop);
    std::vector<bool> in;
    for (const TimeRange& step : {usual, meanwhile, longer, after})
      in.push_back(steps.contains(step));
    return in;
  };
  EXPECT_EQ(contained(stopped), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(contained(waiting), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(contained(alone), (std::vector<bool>{false, false, false, false}));
}

std::vector<Step> steps_of(int count, std::int64_t length) {
  std::vector<Step> steps(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Step& step = steps[static_cast<std::size_t>(i)];
    step.number = i + 1;
    step.start = session_time(i * length);
    step.dur = Duration(length);
  }
  return steps;
}

TEST(Growth, IsPerStepWhateverTheTimeBetweenReadings) {
  CounterSeries memory;
  for (std::int64_t at = 0; at <= 100'000; at += 370) memory.add(session_time(at), 5'000 + at * 3);
  EXPECT_NEAR(growth_per_step(memory, steps_of(100, 1'000)), 3'000, 1e-6);
}

TEST(Growth, APeakMovesNothing) {
  CounterSeries memory;
  for (std::int64_t at = 0; at <= 100'000; at += 500) {
    memory.add(session_time(at), at / 100 + (at % 10'000 == 0 ? 50'000'000 : 0));
  }
  EXPECT_NEAR(growth_per_step(memory, steps_of(100, 1'000)), 10, 0.1);
}

// Such as a cache that is filled in step 40, over several readings.
TEST(Growth, InOneStepOnlyIsNoneOfEachStep) {
  for (const std::int64_t leak : {0, 10}) {  // bytes a step
    CounterSeries memory;
    for (std::int64_t at = 0; at <= 100'000; at += 250) {
      const std::int64_t cache = std::clamp<std::int64_t>((at - 39'100) * 4'000'000, 0, 2 << 30);
      memory.add(session_time(at), 50'000 + at / 1'000 * leak + cache);
    }
    EXPECT_NEAR(growth_per_step(memory, steps_of(100, 1'000)), static_cast<double>(leak), 1);
  }
}

TEST(Growth, InFiveReadingsIsOfEachStep) {
  CounterSeries memory;
  for (std::int64_t at = 500; at < 100'000; at += 20'000) memory.add(session_time(at), at * 3);
  EXPECT_NEAR(growth_per_step(memory, steps_of(100, 1'000)), 3'000, 1e-6);
}

TEST(Growth, InOneLongStepIsNoneOfEachStep) {
  std::vector<Step> steps = steps_of(8, 1'000);
  steps.back().dur = Duration(100'000);
  CounterSeries memory;
  for (std::int64_t at = 500; at < 4'000; at += 1'000) memory.add(session_time(at), 0);
  for (std::int64_t at = 7'000; at < 100'000; at += 5'000) memory.add(session_time(at), at * 1'000);
  EXPECT_LT(growth_per_step(memory, steps), 20e6) << "it grows by 93 MB within the last one";
}

TEST(Growth, IsNoneIfFewStepsHaveReadings) {
  CounterSeries memory;
  for (std::int64_t at = 0; at < 3'000; at += 100) memory.add(session_time(at), at * 1'000);
  EXPECT_EQ(growth_per_step(memory, steps_of(100, 1'000)), 0);
}

TEST(Growth, IsNoneWithoutEnoughReadingsOrSteps) {
  CounterSeries memory;
  for (std::int64_t i = 0; i < 4; ++i) memory.add(session_time(i * 1'000), i * 1'000'000);
  EXPECT_EQ(growth_per_step(memory, steps_of(100, 1'000)), 0);
  EXPECT_EQ(growth_per_step(memory, {}), 0);
}

}  // namespace
}  // namespace stepscope

// What a sweep says, over runs made of numbers: figures, the best and what is as good, where memory
// costs and ends, and fair comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sweep/analyze_sweep.h"
#include "sweep/cell_figures.h"
#include "sweep/memory_fit.h"
#include "sweep/setting.h"
#include "tests/sweep/sweeps.h"

namespace stepscope {
namespace {

using testing::add_runs;
using ::testing::ElementsAre;
using testing::grid_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::numbers;
using testing::words;

double batch_of(const SweepCell& cell, const std::vector<double>& batches) {
  return batches[cell.values[0]];
}

// A step of 1 ms and 100 µs for each sample: the larger the batch the better, but by ever less.
SweepData usual_sweep() {
  SweepData data = grid_of({numbers("batch", {1, 8, 64, 512})});
  const std::vector<double> batches = {1, 8, 64, 512};
  add_runs(
      data, [&](const SweepCell& cell) { return 1e6 + 1e5 * batch_of(cell, batches); },
      [&](const SweepCell& cell) { return batch_of(cell, batches); });
  return data;
}

TEST(SweepFigures, AreThoseOfTheSteadySteps) {
  const SweepReport report = analyze_sweep(usual_sweep());
  const CellFigures& cell = report.cells[1];
  EXPECT_EQ(cell.runs, 3);
  EXPECT_EQ(cell.steps, 120) << "40 of each run, the first is warm-up";
  EXPECT_NEAR(cell.step.value, 1.8e6 * 1.005, 1.8e6 * 0.001);
  EXPECT_NEAR(cell.cost().value, cell.step.value / 8, 1);
  EXPECT_NEAR(*cell.samples_per_second(), 8e9 / cell.step.value, 1);
  EXPECT_NEAR(*cell.input_share, 0.25, 1e-4);
  EXPECT_LT(cell.p50_ns, cell.p99_ns);
  EXPECT_LT(cell.p99_ns, 1.8e6 * 1.03) << "warm-up takes five times as long";
  EXPECT_GT(cell.step.error, 0);
  EXPECT_TRUE(report.per_sample);
}

TEST(SweepFigures, NearestRankIsTheOneOfTheViews) {
  std::vector<double> values;
  for (int i = 100; i > 0; --i) values.push_back(i);
  EXPECT_EQ(nearest_rank(values, 0.5), 50);
  EXPECT_EQ(nearest_rank(values, 0.99), 99);
  values.push_back(101);
  EXPECT_EQ(nearest_rank(values, 0.99), 100);
  EXPECT_EQ(nearest_rank({7}, 0.99), 7);
}

// Two steps of one run, of which one takes eight times as long as the other, as they do in every
// run.
TEST(SweepFigures, TheStepsOfAWholeRunAreAllThereAre) {
  SweepData data = grid_of({numbers("batch", {16, 256})});
  for (std::int64_t round = 1; round <= 3; ++round) {
    const double waver = 1 + 0.01 * static_cast<double>(round);
    for (const std::size_t cell : {0U, 1U}) {
      SweepRun run = testing::good_run(cell, round, 40e6, 32);
      run.samples_per_step = cell == 0 ? 16 : 256;
      if (cell == 1) run.steps.resize(2);
      for (SweepStep& step : run.steps) {
        const double first = cell == 0 ? 1 : 8;
        step.dur_ns =
            std::llround((step.number == 1 ? first : 1) * waver * (cell == 0 ? 40e6 : 6e8));
        step.steady = true;
      }
      data.runs.push_back(std::move(run));
    }
  }
  EXPECT_EQ(analyze_sweep(data).scans.at(0).as_good.size(), 2U) << "two steps tell nothing";
  data.plan.meta.emplace_back("samples_per_run", "512");
  const SweepReport report = analyze_sweep(data);
  EXPECT_EQ(report.scans.at(0).best, 0U);
  EXPECT_THAT(report.scans[0].as_good, ElementsAre(0U));
  EXPECT_NEAR(report.cells[1].step.error / report.cells[1].step.value, 0.01 / std::sqrt(3), 1e-3);
}

// Processes that differ by 5 % with steps that waver by nothing: the interval is that of processes.
TEST(SweepFigures, ProcessesThatDifferWidenTheInterval) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(1, 0.05);
  int held = 0, told = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<Estimate>> cells(8);
    for (auto& cell : cells) {
      for (int run = 0; run < 3; ++run) cell.push_back({1e6 * noise(random), 100, 50, 50});
    }
    const Spread spread = spread_of(cells);
    EXPECT_EQ(spread.freedom, 16);
    for (const auto& cell : cells) {
      const Interval interval = interval_of(combine_runs(cell, spread), 0.95);
      held += interval.low <= 1e6 && 1e6 <= interval.high ? 1 : 0;
      ++told;
    }
  }
  EXPECT_NEAR(static_cast<double>(held) / told, 0.95, 0.02);
}

TEST(SweepFigures, ASettingUnlikeTheOthersHasItsOwnSpread) {
  const Spread spread{0.001, 20};
  const std::vector<Estimate> wild = {{1e6, 10, 50, 50}, {1.2e6, 10, 50, 50}, {0.8e6, 10, 50, 50}};
  EXPECT_GT(combine_runs(wild, spread).error, 1e5);
  EXPECT_EQ(combine_runs(wild, spread).freedom(), 2);
}

TEST(SweepBest, TheLargestBatchIsBestWhenNothingSpeaksAgainstIt) {
  const SweepReport report = analyze_sweep(usual_sweep());
  ASSERT_EQ(report.scans.size(), 1U);
  EXPECT_EQ(report.scans[0].best, 3U);
  EXPECT_THAT(report.scans[0].as_good, ElementsAre(3U));
  EXPECT_FALSE(report.scans[0].pressure);
}

TEST(SweepBest, WhatIsNotToldFromTheBestIsAsGood) {
  SweepData data = grid_of({numbers("batch", {1, 2, 4, 8, 16})});
  const std::vector<double> cost = {2e5, 1.001e5, 1e5, 1.002e5, 1.4e5};  // a sample
  const std::vector<double> batches = {1, 2, 4, 8, 16};
  add_runs(
      data, [&](const SweepCell& cell) { return cost[cell.values[0]] * batch_of(cell, batches); },
      [&](const SweepCell& cell) { return batch_of(cell, batches); });
  const SweepReport report = analyze_sweep(data);
  const Scan& scan = report.scans[0];
  EXPECT_THAT(scan.as_good, ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(scan.good_from, 2);
  EXPECT_EQ(scan.good_to, 8);
}

TEST(SweepBest, WithoutSamplesTheStepCounts) {
  SweepData data = grid_of({numbers("workers", {0, 1, 2})});
  add_runs(data, [](const SweepCell& cell) { return cell.values[0] == 1 ? 1e6 : 2e6; });
  const SweepReport report = analyze_sweep(data);
  EXPECT_FALSE(report.per_sample);
  EXPECT_EQ(report.scans[0].best, 1U);
}

TEST(SweepBest, EachGroupHasItsOwn) {
  SweepData data = grid_of({numbers("length", {8, 64}), numbers("batch", {1, 2})});
  add_runs(
      data,
      [](const SweepCell& cell) {
        return cell.values[0] == 0 ? 1e6 : (cell.values[1] == 0 ? 1e6 : 4e6);
      },
      [](const SweepCell& cell) { return cell.values[1] == 0 ? 1.0 : 2.0; });
  const SweepReport report = analyze_sweep(data);
  ASSERT_EQ(report.scans.size(), 2U);
  EXPECT_EQ(report.scans[0].title, "length=8");
  EXPECT_EQ(report.scans[0].best, 1U);
  EXPECT_EQ(report.scans[1].best, 2U);
}

TEST(SweepMemory, WhereItBeginsToCostIsToldWithItsSigns) {
  SweepData data = usual_sweep();
  for (SweepRun& run : data.runs) {
    run.loop_minor_faults = run.cell == 3 ? 40 * 512 * 3 : 0;
    run.loop_major_faults = 0;
    run.loop_pressure_ns = run.cell == 3 ? 0.1 * static_cast<double>(*run.loop_ns) : 0;
    run.cpu_system_ns = run.cell == 3 ? run.cpu_user_ns : 0;
    if (run.cell != 3) continue;
    for (SweepStep& step : run.steps) step.dur_ns *= 2;
    *run.loop_ns *= 2;
  }
  const Scan scan = analyze_sweep(data).scans[0];
  EXPECT_EQ(scan.best, 2U);
  ASSERT_TRUE(scan.pressure);
  EXPECT_EQ(scan.pressure->cell, 3U);
  EXPECT_NEAR(scan.pressure->slowdown, 0.76, 0.03);
  ASSERT_EQ(scan.pressure->evidence.size(), 2U);
  EXPECT_THAT(scan.pressure->evidence[0],
              HasSubstr("5.0 % of the time (0.0 % at the best setting)"));
  EXPECT_THAT(scan.pressure->evidence[1],
              HasSubstr("1,536 page faults a step (0 at the best setting), 50.0 % of its CPU"));
}

TEST(SweepMemory, SlownessAloneIsNoSignOfIt) {
  SweepData data = usual_sweep();
  for (SweepRun& run : data.runs) {
    run.loop_minor_faults = 10;
    if (run.cell != 3) continue;
    for (SweepStep& step : run.steps) step.dur_ns *= 2;
  }
  EXPECT_FALSE(analyze_sweep(data).scans[0].pressure);
}

std::vector<MemoryPoint> line(double base, double each, const std::vector<double>& values,
                              double noise = 0) {
  std::vector<MemoryPoint> points;
  double sign = 1;
  for (const double value : values) {
    for (int run = 0; run < 3; ++run, sign = -sign) {
      points.push_back({value, base + each * value + sign * noise});
    }
  }
  return points;
}

TEST(SweepMemory, TheLargestThatFitsIsWhereTheLineMeetsTheLimit) {
  const auto fit = fit_memory(line(1e8, 1e6, {1, 10, 100, 200}), 1e9).fit;
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->largest, 900);
  EXPECT_NEAR(fit->each_bytes, 1e6, 1);
  ASSERT_TRUE(fit->interval);
  EXPECT_NEAR(fit->interval->low, 900, 1);
  EXPECT_NEAR(fit->interval->high, 900, 1);
}

TEST(SweepMemory, TheIntervalEndsWhereTheLineMeetsTheLimitWithoutWhatIsSpare) {
  const auto fit = fit_memory(line(1e8, 1e6, {1, 10, 100, 200}), 1e9, 5e7).fit;
  ASSERT_TRUE(fit && fit->interval);
  EXPECT_EQ(fit->largest, 900);
  EXPECT_NEAR(fit->interval->low, 900, 1);
  EXPECT_NEAR(fit->interval->high, 950, 1);
}

// Against many lines with noise: the interval holds the value at which a new run meets the limit.
TEST(SweepMemory, TheIntervalHoldsTheTruth) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 2e6);
  int held = 0;
  constexpr int kTrials = 500;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<MemoryPoint> points;
    for (const double value : {20.0, 40.0, 60.0, 80.0, 100.0}) {
      for (int run = 0; run < 2; ++run)
        points.push_back({value, 1e8 + 1e6 * value + noise(random)});
    }
    const auto fit = fit_memory(points, 1e9).fit;
    ASSERT_TRUE(fit && fit->interval);
    // A run that holds the limit by chance with the noise of one run.
    const double truth = (1e9 - 1e8 + noise(random)) / 1e6;
    held += fit->interval->low <= truth && truth <= fit->interval->high + 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.03);
}

TEST(SweepMemory, AFloorThatSmallValuesDoNotReachBendsNoLine) {
  auto points = line(1e8, 1e6, {100, 200, 400, 800});
  for (const double value : {1.0, 2.0, 4.0, 8.0, 16.0}) points.push_back({value, 1.9e8});
  const auto fit = fit_memory(points, 2e9).fit;
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->largest, 1900, 25);
}

// Each value's peak is off by something of its own, as with an allocator that takes large pieces:
// its runs are alike and tell nothing of that.
TEST(SweepMemory, TheIntervalHoldsTheTruthOfAGrowthInPieces) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> piece(0, 2e6), noise(0, 1e5);
  int held = 0;
  constexpr int kTrials = 500;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<MemoryPoint> points;
    for (const double value : {20.0, 40.0, 60.0, 80.0, 100.0}) {
      const double off = piece(random);
      for (int run = 0; run < 3; ++run)
        points.push_back({value, 1e8 + 1e6 * value + off + noise(random)});
    }
    const auto fit = fit_memory(points, 1e9).fit;
    ASSERT_TRUE(fit && fit->interval);
    const double truth = (1e9 - 1e8 + piece(random) + noise(random)) / 1e6;
    held += fit->interval->low <= truth && truth <= fit->interval->high + 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.03);
}

TEST(SweepMemory, WhyNothingIsSaid) {
  const auto why_not = [](const std::vector<MemoryPoint>& points, double limit) {
    const auto [fit, why] = fit_memory(points, limit);
    EXPECT_EQ(fit.has_value(), why.empty());
    return why;
  };
  EXPECT_EQ(why_not(line(1e8, 0, {1, 2, 4}), 1e9), "does not grow");
  EXPECT_EQ(why_not(line(1e8, 1e6, {4}), 1e9), "needs 2 settings");
  EXPECT_EQ(why_not(line(1e8, 1e3, {1, 2, 4}, 1e7), 1e9), "grows too little to tell");
  EXPECT_EQ(why_not({}, 1e9), "needs 2 settings");
  EXPECT_EQ(why_not(line(1e8, 1e6, {4, 8}), 0), "limit not known");
  // A growth that is far from straight, of values that could still be told to grow were they more.
  EXPECT_EQ(
      why_not({{10, 1.0e8}, {10, 1.0e8}, {20, 3e8}, {20, 3e8}, {30, 2.5e8}, {30, 2.5e8}}, 1e9),
      "needs more settings");
}

// The spread of their runs is all there is to go by; that the growth is straight counts as
// given, and a note says so.
TEST(SweepMemory, TwoSettingsGiveAnIntervalByTheirRuns) {
  const auto fit = fit_memory(line(1e8, 1e6, {10, 20}, 5e5), 1e9).fit;
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->settings, 2);
  EXPECT_NEAR(fit->largest, 900, 30);
  ASSERT_TRUE(fit->interval);
  EXPECT_LT(fit->interval->low, 890);
  EXPECT_GT(fit->interval->high, 910);
}

TEST(SweepMemory, TwoRunsGiveAPointWithoutAnInterval) {
  const auto fit = fit_memory(std::vector<MemoryPoint>{{10, 1.1e8}, {20, 1.2e8}}, 1e9).fit;
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->largest, 900);
  EXPECT_FALSE(fit->interval);
}

TEST(SweepMemory, ALineThroughTwoSettingsIsNoted) {
  SweepData data = grid_of({numbers("batch", {1, 2})});
  add_runs(data, [](const SweepCell&) { return 1e6; });
  for (SweepRun& run : data.runs)
    run.peak_rss_bytes = 100'000'000 + 10'000'000 * static_cast<std::int64_t>(run.cell);
  const SweepReport report = analyze_sweep(data);
  ASSERT_TRUE(report.scans[0].memory);
  EXPECT_EQ(report.scans[0].no_memory_fit, "");
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("rests on two settings")));
}

TEST(SweepMemory, ALimitIsComparedWithTheAddressSpace) {
  SweepData data = usual_sweep();
  data.plan.meta.emplace_back("memory_limit_bytes", "1000000000");
  const std::vector<std::int64_t> batches = {1, 8, 64, 512};
  std::erase_if(data.runs, [](const SweepRun& run) { return run.cell == 3; });
  data.runs.push_back(testing::failed_run(3, SweepOutcome::kOutOfMemory, "std::bad_alloc"));
  for (SweepRun& run : data.runs) {
    if (run.cell < 3) run.peak_address_bytes = 200'000'000 + 2'000'000 * batches[run.cell];
  }
  const SweepReport report = analyze_sweep(data);
  ASSERT_TRUE(report.scans[0].memory);
  EXPECT_TRUE(report.scans[0].memory->of_address_space);
  EXPECT_EQ(report.scans[0].memory->largest, 400);
  ASSERT_TRUE(report.scans[0].memory->interval);
  EXPECT_NEAR(report.scans[0].memory->interval->low, 400, 1);
  EXPECT_NEAR(report.scans[0].memory->interval->high, 467, 1) << "without 128 MiB of malloc's";
  EXPECT_EQ(report.scans[0].memory->smallest_that_failed, 512);
}

TEST(SweepComparison, LeavesOutForAllWhatOneDoesNotHave) {
  SweepData data = grid_of({numbers("batch", {1, 2, 4}), words("format", {"eager", "script"})});
  add_runs(data, [](const SweepCell& cell) {
    if (cell.values[0] == 2 && cell.values[1] == 0) return 0.0;  // eager runs out of memory at 4
    // Were 4 not left out, script would look slower than it is.
    return (cell.values[0] == 2 ? 100 : 1) * (cell.values[1] == 0 ? 2e6 : 1e6);
  });
  const SweepReport report = analyze_sweep(data);
  ASSERT_EQ(report.comparisons.size(), 1U);
  const LevelComparison& comparison = report.comparisons[0];
  EXPECT_EQ(comparison.of, "format");
  EXPECT_EQ(comparison.settings, 2U);
  EXPECT_THAT(comparison.left_out, ElementsAre("batch=4"));
  EXPECT_EQ(comparison.levels[0].name, "script");
  EXPECT_NEAR(comparison.levels[1].relative, 2, 0.02);
  EXPECT_FALSE(comparison.levels[1].noise);
  EXPECT_LT(comparison.levels[1].interval.low, 2.02);
  EXPECT_GT(comparison.levels[1].interval.high, 1.98);
}

TEST(SweepComparison, LikeVariantsDifferByNoise) {
  SweepData data = grid_of({numbers("batch", {1, 2})}, {{"old", "./a"}, {"new", "./b"}});
  add_runs(data, [](const SweepCell&) { return 1e6; });
  const LevelComparison comparison = analyze_sweep(data).comparisons[0];
  EXPECT_EQ(comparison.of, "variant");
  EXPECT_TRUE(comparison.levels[1].noise);
}

TEST(SweepComparison, NothingInCommonIsSaid) {
  SweepData data = grid_of({words("format", {"a", "b"})});
  add_runs(data, [](const SweepCell& cell) { return cell.values[0] == 0 ? 0.0 : 1e6; });
  const LevelComparison comparison = analyze_sweep(data).comparisons[0];
  EXPECT_THAT(comparison.levels, IsEmpty());
  EXPECT_EQ(comparison.settings, 0U);
}

TEST(SweepReports, AnIncompleteSweepHasOneToo) {
  SweepData data = usual_sweep();
  data.runs.resize(2);
  const SweepReport report = analyze_sweep(data);
  EXPECT_EQ(report.runs_made, 2);
  EXPECT_EQ(report.runs_planned, 12);
  EXPECT_FALSE(report.cells[3].tried);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_THAT(report.notes[0], HasSubstr("ran once"));
}

TEST(SweepReports, StepsOfInferenceAreCalls) {
  SweepData data = usual_sweep();
  EXPECT_EQ(analyze_sweep(data).unit, "step") << "not known";
  for (SweepRun& run : data.runs) run.trains = 0;
  data.runs.back().trains.reset();  // one that took no step
  EXPECT_EQ(analyze_sweep(data).unit, "call");
  data.runs.front().trains = 1;
  EXPECT_EQ(analyze_sweep(data).unit, "step") << "some train";
}

TEST(SweepReports, ASweepWithoutAnyRunHasOne) {
  const SweepReport report = analyze_sweep(grid_of({numbers("batch", {1, 2})}));
  EXPECT_EQ(report.scans[0].best, std::nullopt);
  EXPECT_FALSE(report.per_sample);
}

}  // namespace
}  // namespace stepscope

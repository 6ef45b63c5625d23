// The lines of two runs are matched, and a difference is told apart from what sampling makes of one
// truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analyzer/compare/compare.h"
#include "present/comparison_words.h"
#include "tests/analyzer/compared_runs.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Line {
  std::string function;
  std::int64_t line;
  double share;  // of the input wait
};

// 100 steps of `input_ms` of waiting and 10 ms of compute. Of the samples, each line has exactly
// its share; of both the loop's thread and the worker that makes the batches.
AnalysisReport run_with(double input_ms, const std::vector<Line>& lines,
                        std::int64_t samples = 2000, const std::string& folder = "/srv/project") {
  std::mt19937 random(static_cast<unsigned>(input_ms));
  RunBuilder builder;
  builder.loop().steps(correlated(random, 100, 0, 0.01), 10, input_ms);
  AnalysisReport& report = builder.report();
  report.run.working_folder = folder;
  LoopReport& loop = report.loops.front();
  loop.phases.input = input_ms * kMs;
  loop.wall.mean = static_cast<std::int64_t>((input_ms + 10) * kMs);
  loop.line_use.loop_samples = samples;
  loop.line_use.worker_samples = samples;
  const auto add = [&](LinePlace place, const Line& line) {
    LineShare share;
    share.place = place;
    share.category = "input";
    share.file = folder + "/data.py";
    share.line = line.line;
    share.function = line.function;
    share.samples = std::llround(line.share * static_cast<double>(samples));
    share.share = line.share;
    const double error =
        1.96 * std::sqrt(line.share * (1 - line.share) / static_cast<double>(samples));
    share.ci_low = line.share - error;
    share.ci_high = line.share + error;
    share.step = Duration(std::llround(line.share * input_ms * kMs));
    loop.lines.push_back(share);
  };
  add(LinePlace::kLoop, {"<module>", 3, 1});
  for (const Line& line : lines) add(LinePlace::kWorker, line);
  return std::move(report);
}

std::vector<LineDifference> of_workers(const Comparison& comparison) {
  std::vector<LineDifference> lines = comparison.loops.front().lines;
  std::erase_if(lines, [](const LineDifference& line) { return line.place != LinePlace::kWorker; });
  return lines;
}

TEST(CompareLines, TheLineThatGrewIsTold) {
  const AnalysisReport a = run_with(10, {{"decode", 41, 0.5}, {"augment", 50, 0.5}});
  const AnalysisReport b = run_with(15, {{"decode", 41, 2.0 / 3}, {"augment", 50, 1.0 / 3}});
  const Comparison comparison = compare(a, b);
  const auto lines = of_workers(comparison);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(line_text(lines[0]), "data.py:41 decode");
  EXPECT_NEAR(lines[0].ns.delta(), 5 * kMs, 0.2 * kMs);
  EXPECT_TRUE(lines[0].matters());
  EXPECT_FALSE(lines[1].matters()) << lines[1].ns.interval.low << " " << lines[1].ns.interval.high;
  std::string reasons;
  for (const std::string& reason : reasons_of(comparison.loops.front())) reasons += reason + "\n";
  EXPECT_THAT(reasons, HasSubstr("The line of your code that changed most, which makes the "
                                 "batches, is data.py:41 decode: +5.0"));
}

TEST(CompareLines, CodeThatWasMovedIsRecognised) {
  const AnalysisReport a = run_with(10, {{"decode", 41, 0.6}, {"decode", 43, 0.4}});
  const AnalysisReport b = run_with(10, {{"decode", 46, 0.6}, {"decode", 48, 0.4}});
  const auto lines = of_workers(compare(a, b));
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(line_text(lines[0]), "data.py:41→46 decode");
  EXPECT_EQ(line_text(lines[1]), "data.py:43→48 decode");
  EXPECT_FALSE(lines[0].matters());
}

TEST(CompareLines, CodeThatStandsWhereItStoodIsTheSame) {
  // 43 → 41 would fit more of the time, but 43 is still there.
  const AnalysisReport a = run_with(10, {{"decode", 41, 0.3}, {"decode", 43, 0.7}});
  const AnalysisReport b = run_with(10, {{"decode", 41, 0.7}, {"decode", 43, 0.3}});
  const auto lines = of_workers(compare(a, b));
  ASSERT_THAT(lines, SizeIs(2));
  for (const LineDifference& line : lines) {
    EXPECT_EQ(line.line_a, line.line_b);
    EXPECT_TRUE(line.matters());
  }
}

TEST(CompareLines, ALineThatIsGoneTakesNothingInB) {
  const AnalysisReport a = run_with(10, {{"decode", 41, 0.5}, {"augment", 50, 0.5}});
  const AnalysisReport b = run_with(5, {{"decode", 41, 1.0}});
  const auto lines = of_workers(compare(a, b));
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(line_text(lines[0]), "data.py:50 augment");
  EXPECT_EQ(lines[0].line_b, 0);
  EXPECT_NEAR(lines[0].ns.delta(), -5 * kMs, 0.2 * kMs);
  EXPECT_TRUE(lines[0].matters());
  EXPECT_FALSE(lines[1].matters());
}

TEST(CompareLines, WhoMakesTheBatchesNeedNotBeSeenWhereNobodyWaits) {
  const AnalysisReport a = run_with(10, {{"decode", 41, 1.0}});
  AnalysisReport b = run_with(0.01, {});
  b.loops.front().line_use.worker_samples = 0;
  const auto lines = of_workers(compare(a, b));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_TRUE(lines[0].matters());
}

TEST(CompareLines, ACopyOfTheProjectElsewhereHasTheSameFiles) {
  const std::vector<Line> lines = {{"decode", 41, 1.0}};
  const auto found = of_workers(compare(run_with(10, lines), run_with(10, lines, 2000, "/tmp/ci")));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].file, "data.py");
}

TEST(CompareLines, TooFewSamplesTellNothing) {
  const std::vector<Line> lines = {{"decode", 41, 1.0}};
  for (const std::int64_t samples : {0, 99}) {
    EXPECT_THAT(compare(run_with(10, lines), run_with(20, lines, samples)).loops.front().lines,
                IsEmpty());
    EXPECT_THAT(compare(run_with(20, lines, samples), run_with(10, lines)).loops.front().lines,
                IsEmpty());
  }
  EXPECT_THAT(compare(run_with(10, lines), run_with(20, lines, 100)).loops.front().lines,
              Not(IsEmpty()));
}

// Two runs of one truth, of which each sees only its samples.
TEST(CompareLines, SamplingAloneIsNoChange) {
  constexpr int kPairs = 400;
  std::mt19937 random(11);
  const std::vector<Line> truth = {
      {"read", 10, 0.45}, {"decode", 20, 0.3}, {"augment", 30, 0.2}, {"collate", 40, 0.05}};
  const auto drawn = [&] {
    constexpr std::int64_t kSamples = 1000;
    std::discrete_distribution<std::size_t> pick({0.45, 0.3, 0.2, 0.05});
    std::vector<Line> lines = truth;
    for (Line& line : lines) line.share = 0;
    for (std::int64_t i = 0; i < kSamples; ++i) lines[pick(random)].share += 1.0 / kSamples;
    return run_with(10, lines, kSamples);
  };
  int changed = 0;
  for (int i = 0; i < kPairs; ++i) {
    const auto lines = of_workers(compare(drawn(), drawn()));
    changed += static_cast<int>(
        std::ranges::any_of(lines, [](const LineDifference& line) { return line.ns.changed; }));
  }
  EXPECT_LT(changed, kPairs * 0.08) << "of " << kPairs;
}

}  // namespace
}  // namespace stepscope::testing

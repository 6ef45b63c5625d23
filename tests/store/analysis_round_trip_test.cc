// What the analysis writes into a store comes out of it.
#include <gtest/gtest.h>

#include <cstdint>

#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::TempDir;

void expect_equal(const Evidence& a, const Evidence& b) {
  EXPECT_EQ(a.statement, b.statement);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.unit, b.unit);
  EXPECT_EQ(a.query, b.query);
}

void expect_equal(const Step& a, const Step& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.thread, b.thread);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.dur, b.dur);
  EXPECT_EQ(a.paused, b.paused);
  EXPECT_EQ(a.marker, b.marker);
  EXPECT_EQ(a.ops_recorded, b.ops_recorded);
  EXPECT_EQ(a.steady, b.steady);
  ASSERT_EQ(a.kinds.size(), b.kinds.size());
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    EXPECT_EQ(a.kinds[i].kind, b.kinds[i].kind);
    EXPECT_EQ(a.kinds[i].population, b.kinds[i].population);
    EXPECT_EQ(a.kinds[i].device, b.kinds[i].device);
  }
  ASSERT_EQ(a.times.size(), b.times.size());
  for (std::size_t i = 0; i < a.times.size(); ++i) {
    EXPECT_EQ(a.times[i].category, b.times[i].category);
    EXPECT_EQ(a.times[i].phase, b.times[i].phase);
    EXPECT_EQ(a.times[i].label, b.times[i].label);
    EXPECT_EQ(a.times[i].exposed, b.times[i].exposed);
    EXPECT_EQ(a.times[i].hidden, b.times[i].hidden);
  }
}

void expect_equal(const StepPopulation& a, const StepPopulation& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.mean_ns, b.mean_ns);
  EXPECT_EQ(a.share, b.share);
  EXPECT_EQ(a.label, b.label);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.degree, b.degree);
  EXPECT_EQ(a.period, b.period);
  EXPECT_EQ(a.first, b.first);
}

void expect_equal(const Verdict& a, const Verdict& b) {
  ASSERT_EQ(a.populations.size(), b.populations.size());
  for (std::size_t i = 0; i < a.populations.size(); ++i)
    expect_equal(a.populations[i], b.populations[i]);
  EXPECT_EQ(a.thread, b.thread);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.degree, b.degree);
  EXPECT_EQ(a.share, b.share);
  EXPECT_EQ(a.ci_low, b.ci_low);
  EXPECT_EQ(a.ci_high, b.ci_high);
  EXPECT_EQ(a.confidence, b.confidence);
  EXPECT_EQ(a.sentence, b.sentence);
  EXPECT_EQ(a.steps, b.steps);
  ASSERT_EQ(a.evidence.size(), b.evidence.size());
  for (std::size_t i = 0; i < a.evidence.size(); ++i) expect_equal(a.evidence[i], b.evidence[i]);
  ASSERT_EQ(a.advice.size(), b.advice.size());
  for (std::size_t i = 0; i < a.advice.size(); ++i) {
    EXPECT_EQ(a.advice[i].rule, b.advice[i].rule);
    EXPECT_EQ(a.advice[i].title, b.advice[i].title);
    EXPECT_EQ(a.advice[i].why, b.advice[i].why);
    EXPECT_EQ(a.advice[i].predicted_step_ns, b.advice[i].predicted_step_ns);
    EXPECT_EQ(a.advice[i].saves_ns, b.advice[i].saves_ns);
    EXPECT_EQ(a.advice[i].likely, b.advice[i].likely);
    expect_equal(a.advice[i].evidence, b.advice[i].evidence);
  }
}

// Two loops, one of them without steps of its own; every marker and category.
Analysis rich_analysis() {
  Analysis analysis = testing::true_analysis({});
  for (int i = 0; i <= static_cast<int>(StepMarker::kInferred); ++i) {
    analysis.steps[static_cast<std::size_t>(i)].marker = static_cast<StepMarker>(i);
  }
  for (int i = 0; i < kCategoryCount; ++i) {
    analysis.steps[1].times.push_back({static_cast<Category>(i), PhaseKind::kScope, "checkpoint",
                                       Duration(i), Duration(100 + i)});
  }
  analysis.steps[2].paused = Duration(77);
  for (int i = 0; i < kSegmentKindCount; ++i) {
    analysis.segments.push_back({analysis.steps[0].thread, static_cast<SegmentKind>(i),
                                 session_time(1000 * i), Duration(500), i, 3 * i,
                                 Duration(10 * i)});
  }
  analysis.lines = {
      {analysis.steps[0].thread, LinePlace::kLoop, "input", "/src/train.py", 12, "main",
       "torch/utils/data/dataloader.py __next__", "poll", 90, 0.9, 0.8, 0.95, Duration(9000)},
      {analysis.steps[0].thread, LinePlace::kWorker, "input", "/src/data.py", 0, "decode", "", "",
       10, 1, 0.7, 1, Duration(1000)}};
  analysis.steps[0].kinds = {{"input-bound", 0, DeviceId::kNone}};
  analysis.steps[1].kinds = {{"host-bound", 2, DeviceId::kNone},
                             {"compute-bound", 1, static_cast<DeviceId>(1)}};
  analysis.verdicts[0].populations = {
      {1, 18, 4'800'000, 0.75, "usual steps", "compute-bound", "", 0, 0},
      {2, 2, 31'800'000, 0.25, "every 10th step (9, 19, …)", "host-bound", "highly", 10, 9}};
  Verdict none;
  none.kind = "no-steps";
  none.confidence = "low";
  none.evidence = {{"first", 1.5, "ratio", ""}, {"second", 2, "count", "SELECT 1"}};
  analysis.verdicts.push_back(none);
  analysis.verdicts[0].advice.push_back(analysis.verdicts[0].advice[0]);
  analysis.verdicts[0].advice[1].rule = "second";
  analysis.verdicts[0].advice[1].likely = LikelyStep{900, 1500};
  return analysis;
}

void expect_equal(const Analysis& a, const Analysis& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) expect_equal(a.steps[i], b.steps[i]);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.lines, b.lines);
  ASSERT_EQ(a.verdicts.size(), b.verdicts.size());
  for (std::size_t i = 0; i < a.verdicts.size(); ++i) expect_equal(a.verdicts[i], b.verdicts[i]);
}

TEST(RoundTrip, AnAnalysisReplacesTheEarlierOneAsAWhole) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {.device = true}, /*analysed=*/true);
  const Analysis written = rich_analysis();
  {
    auto writer = TraceWriter::open(dir / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->replace_analysis(written));
  }
  const auto reader = testing::open_store(dir / "run.db");
  const auto read = reader->analysis();
  ASSERT_OK(read.status());
  expect_equal(*read, written);
  EXPECT_EQ(reader->meta("state"), "complete");
}

TEST(RoundTrip, AStoreWithoutAnalysisHasNeitherStepsNorVerdicts) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto analysis = testing::open_store(dir / "run.db")->analysis();
  ASSERT_OK(analysis.status());
  EXPECT_TRUE(analysis->steps.empty());
  EXPECT_TRUE(analysis->verdicts.empty());
}

// The printed report needs both at once: a reader that is open, and the analysis written meanwhile.
TEST(RoundTrip, AnAnalysisCanBeWrittenWhileAReaderOfTheSameStoreIsOpen) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto reader = testing::open_store(dir / "run.db");
  std::int64_t ops = 0;
  ASSERT_OK(reader->for_each_op([&ops](const Op&) {
    ++ops;
    return true;
  }));
  ASSERT_EQ(ops, testing::SyntheticRun{}.op_count());
  {
    auto writer = TraceWriter::open(dir / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->replace_analysis(testing::true_analysis({})));
    ASSERT_OK((*writer)->finish());
  }
  const auto analysis = reader->analysis();
  ASSERT_OK(analysis.status());
  EXPECT_EQ(analysis->steps.size(), 20u);
}

}  // namespace
}  // namespace stepscope

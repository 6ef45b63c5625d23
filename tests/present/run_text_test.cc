// What `stepscope run` prints while a program runs and after it ended.
#include "present/run_text.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

AnalysisReport report_of(LoopReport loop) {
  AnalysisReport report;
  report.loops.push_back(std::move(loop));
  return report;
}

LoopReport compute_bound() {
  LoopReport loop;
  loop.trains = true;
  loop.steps.resize(40);
  for (std::size_t i = 1; i < 40; ++i) loop.analysed.push_back(i);
  loop.wall.mean = 2'000'000;
  loop.verdict.kind = "compute-bound";
  loop.verdict.share = 0.91;
  loop.verdict.confidence = "high";
  return loop;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RunText, TheVerdictAndWhatItRestsOn) {
  const std::string text = run_summary("run.db", report_of(compute_bound()), Status());
  EXPECT_TRUE(says(text, "COMPUTE-BOUND   91.0 % of the step is compute   (confidence high)"))
      << text;
  EXPECT_TRUE(says(text, "39 of 40 steps, 2.00 ms each")) << text;
  EXPECT_FALSE(says(text, "less certain")) << text;
  EXPECT_FALSE(says(text, "cost")) << text;
}

TEST(RunText, WhetherOneRankHoldsUpTheOthers) {
  AnalysisReport report = report_of(compute_bound());
  EXPECT_FALSE(says(run_summary("run.db", report, Status()), "rank"));
  report.ranks.emplace();
  report.ranks->rows.resize(2);
  report.ranks->rows[1].rank = 1;
  report.ranks->straggler = 1;
  report.ranks->ops_on_all = true;
  const std::string text = run_summary("run.db", report, Status());
  EXPECT_TRUE(says(text, "Rank 1 is the straggler")) << text;
  report.ranks->ops_on_all = false;
  EXPECT_TRUE(says(run_summary("run.db", report, Status()), "is unknown"));
}

ProcessReport ended(EndKind how, int code, bool out_of_memory) {
  ProcessReport process;
  process.pid = 12;
  process.name = "train.py";
  process.end.emplace();
  process.end->how = how;
  process.end->code = code;
  process.end->out_of_memory = out_of_memory;
  return process;
}

TEST(RunText, WhatKilledIt) {
  AnalysisReport report = report_of(compute_bound());
  report.processes = {ended(EndKind::kExit, 1, false), ended(EndKind::kSignal, 9, true)};
  report.deaths = {0};
  EXPECT_FALSE(says(run_summary("run.db", report, Status()), "Process 12"))
      << "it has said why itself";
  report.deaths = {0, 1};
  const std::string text = run_summary("run.db", report, Status());
  EXPECT_TRUE(says(text, "Process 12 (train.py) ran out of memory and was killed by the kernel"))
      << text;
}

TEST(RunText, TheRankThatFailedIsNamedRatherThanThoseKilledBecauseOfIt) {
  AnalysisReport report = report_of(compute_bound());
  report.processes = {ended(EndKind::kSignal, 0, false), ended(EndKind::kExit, 3, false)};
  report.processes[0].rank = 0;
  report.processes[1].rank = 1;
  report.deaths = {1, 0};
  const std::string text = run_summary("run.db", report, Status());
  EXPECT_TRUE(says(text, "Rank 1 (process 12) ended with exit code 3")) << text;
  report.deaths = {0, 1};
  EXPECT_TRUE(says(run_summary("run.db", report, Status()), "Rank 0 (process 12) was killed"));
}

TEST(RunText, MemoryThatGrows) {
  AnalysisReport report = report_of(compute_bound());
  LoopReport& loop = report.loops.front();
  loop.process = ProcessId{3};
  for (std::size_t i = 1; i < loop.steps.size(); ++i) loop.steps[i].steady = true;
  loop.steps.front().steady = false;
  ProcessReport process;
  process.id = loop.process;
  process.rss_bytes = 584e6;
  process.rss_growth_per_step = 1.05e6;
  report.processes = {process};
  EXPECT_FALSE(says(run_summary("run.db", report, Status()), "memory")) << "by too little";
  report.processes[0].grows = true;
  const std::string text = run_summary("run.db", report, Status());
  EXPECT_TRUE(says(text,
                   "  memory grows by 1.05 MB a step: 41.0 MB over 39 steps, 584 MB at the last "
                   "reading\n"))
      << text;
  report.processes[0].rss_bytes = 20e6;
  report.processes[0].rss_peak_bytes = 600e6;
  EXPECT_TRUE(says(run_summary("run.db", report, Status()), "over 39 steps, at most 600 MB"))
      << "it was freed at the end";
}

TEST(RunText, WhyTheConfidenceIsNotHigh) {
  LoopReport loop = compute_bound();
  loop.verdict.confidence = "medium";
  loop.basis.doubts = {{DoubtKind::kNoOps}, {DoubtKind::kFewSteps, 12}};
  EXPECT_TRUE(says(run_summary("run.db", report_of(loop), Status()),
                   "less certain: no ops recorded, only 12 steps"));
}

TEST(RunText, WhatRecordingOpsCost) {
  LoopReport loop = compute_bound();
  loop.ops_recorded = true;
  loop.recording.ops = {30, 300, 250'000, 1'000'000};
  loop.recording.op_step_share = 0.081;
  loop.recording.run_share = 0.017;
  loop.recording.removed = true;
  EXPECT_TRUE(says(run_summary("run.db", report_of(loop), Status()),
                   "ops in 8.1 % of the steps cost 1.7 % of the run; these figures leave it out"));
}

TEST(RunText, WhileItRuns) {
  RunProgress now;
  now.processes = 1;
  now.step = 101;
  now.looping_ns = 200'000'000;
  now.ops_enabled = true;
  EXPECT_TRUE(says(live_text(now), "step 101 · 2.00 ms a step")) << live_text(now);
  EXPECT_TRUE(says(live_text(now), "ops on")) << live_text(now);
  now.op_step_share = 0.12;
  now.cost = 0.019;
  EXPECT_TRUE(says(live_text(now), "ops in 12 % of the steps · recording costs about 1.9 %"))
      << live_text(now);
}

}  // namespace
}  // namespace stepscope

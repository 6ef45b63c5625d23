// What a whole report says about runs that a few lines of a case cannot hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <variant>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/verdict/summary.h"
#include "present/population_words.h"
#include "present/report_text.h"
#include "present/stored_analysis.h"
#include "present/verdict_words.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

// Steps of 100 ns by the loader: 10 input, 50 forward op, 30 backward op, 10 optimizer op. `stall`
// gives the length of a "logging" scope at the end of a step.
RecordingBuilder training(int steps, const std::function<std::int64_t(int)>& stall) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  std::int64_t at = 0;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t scale = 1000;
    builder.phase(main, PhaseKind::kInput, at, at + 10 * scale, 0, "train");
    builder.op(main, "aten::linear", at + 10 * scale, at + 60 * scale);
    builder.phase(main, PhaseKind::kBackward, at + 60 * scale, at + 90 * scale);
    builder.op(main, "AddmmBackward0", at + 60 * scale, at + 90 * scale,
               OpScope::kBackwardFunction);
    builder.phase(main, PhaseKind::kOptimizer, at + 90 * scale, at + 100 * scale);
    builder.op(main, "aten::add_", at + 90 * scale, at + 100 * scale);
    at += 100 * scale + (i % 7) * 10;
    if (const std::int64_t length = stall(i); length > 0) {
      builder.phase(main, PhaseKind::kScope, at, at + length, 0, "logging");
      at += length;
    }
  }
  return builder;
}

TEST(Report, TwoKindsOfStepAreReportedAsTwo) {
  RecordingBuilder builder = training(200, [](int i) { return i % 20 == 19 ? 300'000 : 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_EQ(loop.populations.size(), 2u);
  EXPECT_EQ(population_label(loop, 0), "usual steps");
  EXPECT_EQ(loop.populations[0].steps, 189);
  EXPECT_EQ(population_label(loop, 1), "every 20th step (20, 40, …): +300 µs in \"logging\"");
  EXPECT_EQ(loop.populations[1].steps, 10);
  EXPECT_EQ(loop.populations[1].period, 20);
  EXPECT_EQ(loop.populations[1].first, 20);
  EXPECT_EQ(loop.populations[1].cause, (Cause{Category::kOther, "logging"}));
  EXPECT_NEAR(loop.populations[1].extra_ns, 300'000, 1);
  EXPECT_NEAR(loop.populations[0].share + loop.populations[1].share, 1.0, 1e-12);
  EXPECT_NEAR(loop.populations[1].share, 4.0 / 22.9, 1e-3) << "10 × 400 µs of 189 × 100 more";
  EXPECT_EQ(loop.populations[0].bottleneck.kind, "input-bound");
  EXPECT_EQ(loop.populations[1].bottleneck.kind, "host-bound");
  EXPECT_EQ(loop.populations[1].bottleneck.degree, "highly");
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("Two kinds of step: 189 take 100 µs, 10 take 400 µs"));
}

TEST(Report, OneKindOfStepIsOne) {
  RecordingBuilder builder = training(200, [](int) { return 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->loops[0].populations.size(), 1u);
  EXPECT_EQ(report->loops[0].populations[0].steps, 199);
}

TEST(Report, EachStepHasItsOwnKind) {
  RecordingBuilder builder = training(60, [](int i) { return i == 30 ? 300'000 : 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  for (const Step& step : report->loops[0].steps)
    EXPECT_EQ(step.kinds.at(0).kind, step.number == 31 ? "host-bound" : "input-bound")
        << step.number;
}

TEST(Report, StepsThatGetSlowerDrift) {
  RecordingBuilder builder = training(200, [](int i) { return 1 + i * 250; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_TRUE(loop.drift.has_value());
  EXPECT_NEAR(loop.drift->trend.slope, 250, 5);
  EXPECT_NEAR(loop.drift->trend.change, 198 * 250, 1000);
  EXPECT_EQ(loop.drift->trend.jump_at, 0);
  EXPECT_EQ(loop.drift->cause, (Cause{Category::kOther, "logging"}));
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("The steps get slower: +49."));
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("most of it in \"logging\"."));
  EXPECT_EQ(loop.populations.size(), 1u) << "bit by bit is one kind";
}

TEST(Report, StepsThatGetFasterAtOnceAreToldFromWhen) {
  RecordingBuilder builder = training(400, [](int i) { return i < 260 ? 60'000 : 1; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_TRUE(loop.drift.has_value());
  EXPECT_EQ(loop.drift->trend.jump_at, 261);
  EXPECT_NEAR(loop.drift->trend.change, -60'000, 100);
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("From step 261 on, the steps are faster: −60.0 µs"));
}

// Every third of the early steps is slower. The late steps are of another level.
RecordingBuilder two_levels(int steps, int late_from) {
  return training(steps, [=](int i) {
    const int jitter = i * 7919 % 997;
    return jitter + (i >= late_from ? 500'000 : i % 3 == 0 ? 40'000 : 0);
  });
}

TEST(Report, AStructureOfTheEarlyStepsDoesNotHideThatTheLevelChanges) {
  for (const int late_from : {100, 150, 180}) {
    RecordingBuilder builder = two_levels(200, late_from);
    const auto report = analyze(builder.recording());
    ASSERT_TRUE(report.ok());
    const LoopReport& loop = report->loops[0];
    ASSERT_TRUE(loop.drift.has_value()) << late_from;
    EXPECT_EQ(loop.drift->trend.jump_at, late_from + 1);
    EXPECT_EQ(loop.drift->cause, (Cause{Category::kOther, "logging"}));
    for (const Population& kind : loop.populations) {
      const auto late = std::ranges::count_if(
          kind.members, [&](std::size_t i) { return loop.steps[i].number > late_from; });
      EXPECT_TRUE(loop.populations.size() == 1 || late == 0 || late == kind.steps) << late_from;
    }
    for (const AdviceFacts& advice : loop.verdict.advice) {
      const auto* const stall = std::get_if<PeriodicStall>(&advice.facts);
      if (stall == nullptr) continue;
      EXPECT_LT(loop.populations[stall->population].mean_ns, 200'000) << "a level is no stall";
    }
  }
}

TEST(Report, SteadyStepsDoNotDrift) {
  RecordingBuilder builder = training(200, [](int i) { return i % 20 == 19 ? 300'000 : 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->loops[0].drift.has_value());
}

// Every 1 ms some task of the machine has waited `stall_us` more for memory.
RecordingBuilder under_pressure(int steps, std::int64_t stall_us) {
  RecordingBuilder builder = training(steps, [](int) { return 0; });
  for (std::int64_t ms = 0; ms <= steps / 10 + 1; ++ms) {
    const SessionTime at = session_time(ms * 1'000'000);
    builder.samples.push_back(
        {ProcessId::kNone, builder.intern("psi_memory_some_us"), at, 7 + ms * stall_us});
    builder.samples.push_back(
        {ProcessId::kNone, builder.intern("memory_available_bytes"), at, 90'000'000 - ms});
    builder.samples.push_back(
        {static_cast<ProcessId>(1), builder.intern("major_faults"), at, ms * 40});
  }
  return builder;
}

TEST(Report, MemoryPressureIsAVerdictOfItsOwn) {
  RecordingBuilder builder = under_pressure(100, 430);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  EXPECT_EQ(loop.verdict.kind, "memory-pressure-bound");
  EXPECT_EQ(loop.verdict.degree, "highly");
  EXPECT_NEAR(loop.verdict.share, 0.43, 1e-3);
  EXPECT_NEAR(loop.verdict.ci_low, 0.43, 1e-3);
  EXPECT_EQ(loop.steps[50].kinds.at(0).kind, "memory-pressure-bound");
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("43.0 % of the time is spent waiting for memory."));
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("pages back from disk"));
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("Also: input 10.0 %"));
  EXPECT_EQ(loop.verdict.evidence.size(), 3u);
}

TEST(Report, ALittleMemoryPressureIsNone) {
  RecordingBuilder builder = under_pressure(100, 60);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->loops[0].verdict.kind, "input-bound");
  EXPECT_NEAR(report->loops[0].memory.share, 0.06, 1e-3);
  EXPECT_THAT(verdict_sentence(report->loops[0]), ::testing::Not(HasSubstr("memory")));
}

TEST(Report, WithoutPressureInformationMajorFaultsAreCounted) {
  RecordingBuilder builder = under_pressure(100, 0);
  std::erase_if(builder.samples, [&](const Sample& sample) {
    return sample.counter == builder.intern("psi_memory_some_us");
  });
  for (Sample& sample : builder.samples)
    sample.value /= sample.counter == builder.intern("major_faults") ? 10 : 1;
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_NEAR(report->loops[0].memory.share, 4 * 80e-3, 1e-2) << "4 faults of 80 µs a ms";
  EXPECT_EQ(report->loops[0].verdict.kind, "memory-pressure-bound");
}

TEST(Report, AScopeHasAllThatRunsInsideIt) {
  RecordingBuilder builder = training(50, [](int) { return 0; });
  const ThreadId main = builder.thread("main");
  for (int i = 0; i < 50; ++i) {
    const std::int64_t at = i * 100'000 + (i / 7) * 210 + (i % 7) * (i % 7 - 1) * 5;
    if (i % 2 == 1) builder.phase(main, PhaseKind::kScope, at + 20'000, at + 95'000, 0, "model");
    builder.phase(main, PhaseKind::kScope, at + 30'000, at + 40'000, 0, "layer");
    builder.phase(main, PhaseKind::kScope, at + 32'000, at + 38'000, 0, "layer");
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_EQ(loop.scopes.size(), 2u);
  EXPECT_EQ(loop.scopes[0].name, "model");
  EXPECT_EQ(loop.scopes[0].calls, 25);
  EXPECT_EQ(loop.scopes[0].total_ns, 25 * 75'000);
  EXPECT_EQ(loop.scopes[1].name, "layer");
  EXPECT_EQ(loop.scopes[1].calls, 49) << "one inside another of its name is the same";
  EXPECT_EQ(loop.scopes[1].total_ns, 49 * 10'000);
}

// As in: with scope("log"): step(); write_log()
TEST(Report, AScopeMayHoldTheEndOfAStep) {
  constexpr std::int64_t kStep = 100'000;
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  builder.phase(main, PhaseKind::kScope, 0, 50 * kStep, 0, "training");
  for (int i = 1; i <= 50; ++i) {
    builder.phase(main, PhaseKind::kStep, i * kStep, i * kStep);
    builder.phase(main, PhaseKind::kScope, i * kStep - 10'000, i * kStep + 20'000, 0, "log");
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_EQ(loop.scopes.size(), 1u) << "one that holds whole steps is none of them";
  EXPECT_EQ(loop.scopes[0].name, "log");
  EXPECT_EQ(loop.scopes[0].total_ns, 48 * 30'000 + 20'000 + 10'000) << "in steps 2 to 50";
}

TEST(Report, ASlowStartIsNoPartOfTheVerdict) {
  RecordingBuilder builder = training(100, [](int i) { return i < 4 ? 900'000 : 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->loops[0].warm_up, 4);
  EXPECT_EQ(report->loops[0].verdict.kind, "input-bound");
  EXPECT_EQ(share_of(report->loops[0].shares, Category::kOther), 0);
}

// The recorder stood still: three steps look like one.
TEST(Report, AStepWithLostMarksIsNoStep) {
  RecordingBuilder builder = training(30, [](int) { return 0; });
  const auto all = analyze(builder.recording());
  ASSERT_TRUE(all.ok());
  const TimeRange missing{all->loops[0].steps[14].start, all->loops[0].steps[17].start};
  const ThreadId main = all->loops[0].steps[0].thread;
  std::erase_if(builder.phases(),
                [&](const Phase& phase) { return missing.contains(phase.start); });
  builder.phase(main, PhaseKind::kLost, to_ns(missing.start), to_ns(missing.end) - 10);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  EXPECT_EQ(loop.steps.size(), 27U);
  EXPECT_EQ(loop.with_lost_marks, 1);
  EXPECT_FALSE(loop.steps[13].steady) << "the one before has its three successors";
  EXPECT_EQ(loop.analysed.size(), 25U);
  EXPECT_LT(loop.wall.max, 102'000);
  EXPECT_THAT(text_report(*report, {}),
              HasSubstr("left out   1 step in which marks were lost; it may stand for several\n"));
}

// An op recording that began in the middle of step 5.
TEST(Report, AStepWithAPartOfItsOpsIsLeftOut) {
  RecordingBuilder builder = training(12, [](int) { return 0; });
  builder.facts.windowed = true;
  std::erase_if(builder.ops(), [](const Op& op) {
    return to_ns(op.start) < 480'000 || to_ns(op.start) > 990'000;
  });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  EXPECT_FALSE(loop.steps[4].ops_recorded) << "one of its three ops";
  EXPECT_TRUE(loop.steps[5].ops_recorded);
  EXPECT_EQ(loop.steps[loop.analysed.front()].number, 6);
  EXPECT_EQ(loop.steps[loop.analysed.back()].number, 10);
}

// 120 steps, ten with ops after each ten without. Recording makes the forward pass of 20 ops take
// 60 us instead of 40. `stalled` sleeps for 5 s at its end.
RecordingBuilder blocks_of_ops(int stalled = -1) {
  RecordingBuilder builder;
  builder.facts.windowed = true;
  const ThreadId main = builder.thread("main");
  std::int64_t at = 0;
  for (int i = 0; i < 120; ++i) {
    const bool with_ops = i / 10 % 2 == 1;
    if (with_ops && i % 10 == 0) builder.phase(main, PhaseKind::kOpsBegin, at, at);
    const std::int64_t forward = with_ops ? 60'000 : 40'000, backward_at = at + 10'000 + forward;
    builder.phase(main, PhaseKind::kInput, at, at + 10'000, 0, "train");
    for (std::int64_t op = 0; with_ops && op < 20; ++op)
      builder.op(main, "aten::mul", at + 10'000 + op * 3'000, at + 13'000 + op * 3'000);
    builder.phase(main, PhaseKind::kBackward, backward_at, backward_at + 50'000);
    if (with_ops) {
      builder.op(main, "MulBackward0", backward_at, backward_at + 50'000,
                 OpScope::kBackwardFunction);
    }
    at = backward_at + 50'000 + (i == stalled ? 5'000'000'000 : 0);
    if (with_ops && i % 10 == 9) builder.phase(main, PhaseKind::kOpsEnd, at, at);
  }
  return builder;
}

// The backward pass of one op takes 50 us: that is the order of the program itself.
TEST(Report, OpsAreInTheOrderOfTheirTimeWithoutTheCostOfRecording) {
  const auto report = analyze(blocks_of_ops().recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  ASSERT_TRUE(loop.recording.removed);
  ASSERT_EQ(loop.ops.size(), 2u);
  EXPECT_EQ(loop.ops[0].name, "MulBackward0");
  EXPECT_EQ(loop.ops[1].name, "aten::mul");
  EXPECT_GT(loop.ops[0].self_ns, loop.ops[1].self_ns);
}

// Whether its ops were recorded, or those of the step beside it, is chance.
TEST(Report, AStallCountsInWhicheverStepItFalls) {
  const auto usual = analyze(blocks_of_ops().recording());
  ASSERT_TRUE(usual.ok());
  for (const int stalled : {44, 49, 50, 55, 59, 60}) {
    const auto report = analyze(blocks_of_ops(stalled).recording());
    ASSERT_TRUE(report.ok());
    const LoopReport& loop = report->loops[0];
    EXPECT_NEAR(static_cast<double>(loop.wall.max), 5e9, 1e6) << stalled;
    EXPECT_NEAR(loop.shares[static_cast<std::size_t>(Category::kHost)], 1, 0.01) << stalled;
    // The other steps are divided as if there were no stall.
    const auto part_of = [](const LoopReport& of, Category category) {
      Duration sum{0};
      for (const StepTime& time : of.steps[85].times)
        sum += time.category == category ? time.exposed : Duration{0};
      return static_cast<double>(to_ns(sum));
    };
    for (const Category category : {Category::kHost, Category::kCompute})
      EXPECT_NEAR(part_of(loop, category), part_of(usual->loops[0], category), 100) << stalled;
  }
}

// The program marks its steps, and fetches a batch for 7 of 10 ms before each mark. What ends that
// wait is the next forward pass, which after a block with ops is not seen.
TEST(Report, TheLastStepWithOpsSaysNothingAboutAnInferredWait) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  constexpr std::int64_t kMs = 1'000'000;
  for (int i = 0; i < 120; ++i) {
    const std::int64_t at = i * 10 * kMs;
    const bool with_ops = i / 5 % 2 == 1;
    if (with_ops && i % 5 == 0) builder.phase(main, PhaseKind::kOpsBegin, at, at);
    const auto numbered = [&](const char* name, std::int64_t from, std::int64_t to, int number) {
      builder.op(main, name, from, to);
      builder.ops().back().sequence = number;  // of the next autograd node
    };
    if (with_ops) numbered("aten::linear", at, at + kMs - 1000, i);
    if (with_ops) numbered("aten::ones_like", at + kMs - 1000, at + kMs, i + 1);
    builder.phase(main, PhaseKind::kBackward, at + kMs, at + 2 * kMs);
    if (with_ops) {
      builder.op(main, "AddmmBackward0", at + kMs, at + 2 * kMs, OpScope::kBackwardFunction);
    }
    builder.phase(main, PhaseKind::kOptimizer, at + 2 * kMs, at + 3 * kMs);
    if (with_ops) builder.op(main, "aten::add_", at + 2 * kMs, at + 3 * kMs);
    builder.phase(main, PhaseKind::kStep, at + 10 * kMs, at + 10 * kMs);
    if (with_ops && i % 5 == 4)
      builder.phase(main, PhaseKind::kOpsEnd, at + 10 * kMs, at + 10 * kMs);
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops[0];
  EXPECT_TRUE(loop.input.inferred);
  EXPECT_NEAR(loop.shares[static_cast<std::size_t>(Category::kInput)], 0.7, 0.01);
  EXPECT_TRUE(loop.steps[8].ops_recorded);
  EXPECT_FALSE(loop.steps[9].ops_recorded) << "its wait ends where no op is seen";
}

// A block of steps with ops may concern one rank only.
TEST(Report, AProcessWithoutOpsIsNotOneThatDoesNothing) {
  RecordingBuilder builder;
  const ThreadId with = builder.thread("with", 1);
  const ThreadId without = builder.thread("without", 2);
  builder.phase(with, PhaseKind::kOpsBegin, 0, 0);
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t at = i * 100'000;
    for (const ThreadId thread : {with, without}) {
      builder.phase(thread, PhaseKind::kInput, at, at + 10'000, 0, "train");
      builder.phase(thread, PhaseKind::kBackward, at + 10'000, at + 90'000);
      builder.phase(thread, PhaseKind::kOptimizer, at + 90'000, at + 100'000);
    }
    builder.op(with, "MulBackward0", at + 10'000, at + 90'000, OpScope::kBackwardFunction);
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->loops.size(), 2u);
  for (const LoopReport& loop : report->loops) {
    EXPECT_EQ(loop.ops_recorded, loop.steps.front().thread == with);
    EXPECT_GT(loop.shares[static_cast<std::size_t>(Category::kCompute)], 0.7);
  }
}

// The live view holds only the latest ops. Steps whose ops are gone divide as the others do.
TEST(Report, AStepWhoseOpsAreNoLongerHeldDividesAsTheOthers) {
  RecordingBuilder builder;
  builder.facts.windowed = true;
  builder.facts.ops_dropped = true;
  const ThreadId main = builder.thread("main");
  builder.phase(main, PhaseKind::kOpsBegin, 0, 0);
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t at = i * 100'000;
    builder.phase(main, PhaseKind::kInput, at, at + 10'000, 0, "train");
    builder.phase(main, PhaseKind::kBackward, at + 10'000, at + 90'000);
    builder.phase(main, PhaseKind::kOptimizer, at + 90'000, at + 100'000);
    if (i < 20) continue;
    builder.op(main, "MulBackward0", at + 10'000, at + 30'000, OpScope::kBackwardFunction);
    builder.op(main, "c10d::allreduce_", at + 30'000, at + 90'000);
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const auto communication = [](const Step& step) {
    Duration sum{0};
    for (const StepTime& time : step.times)
      if (time.category == Category::kCommunication) sum += time.exposed;
    return sum;
  };
  const std::vector<Step>& steps = report->loops[0].steps;
  EXPECT_GT(communication(steps[30]), Duration(50'000));
  EXPECT_FALSE(steps[10].ops_recorded);
  EXPECT_NEAR(to_ns(communication(steps[10])), to_ns(communication(steps[30])), 1000);
}

TEST(Report, LateOpsAreALoss) {
  RecordingBuilder builder = training(3, [](int) { return 0; });
  RecordedRun recording = builder.recording();
  // Just more ops than the reorder window holds come before the first one.
  recording.for_each_op = [&builder](const RecordedRun::OpVisitor& visit) {
    for (std::size_t i = 1; i < builder.ops().size(); ++i) visit(builder.ops()[i]);
    Op filler = builder.ops().back();
    for (std::size_t i = builder.ops().size(); i <= kReorderWindow + 1; ++i) {
      filler.start += Duration(i % 1000 == 0 ? 1 : 0);
      filler.dur = Duration(0);
      visit(filler);
    }
    visit(builder.ops().front());
    return Status();
  };
  const auto report = analyze(recording);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->losses.size(), 1u);
  EXPECT_EQ(report->losses[0].kind, "late_op");
  EXPECT_EQ(report->losses[0].count, 1);
  EXPECT_NE(report->loops[0].verdict.confidence, "high");
}

TEST(Report, AnalysisForTheStoreHoldsEachLoop) {
  RecordingBuilder builder = training(30, [](int) { return 0; });
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const Analysis analysis = to_analysis(*report);
  EXPECT_EQ(analysis.steps.size(), 30u);
  ASSERT_EQ(analysis.verdicts.size(), 1u);
  EXPECT_EQ(analysis.verdicts[0].thread, static_cast<ThreadId>(1));
  EXPECT_FALSE(analysis.verdicts[0].advice.empty());
  RecordingBuilder nothing;
  const auto none = analyze(nothing.recording());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(to_analysis(*none).verdicts.at(0).kind, "no-steps");
  EXPECT_EQ(to_analysis(*none).verdicts.at(0).thread, ThreadId::kNone);
}

TEST(StepSpan, Parses) {
  EXPECT_EQ(parse_step_window("500-520"), (StepSpan{500, 520}));
  EXPECT_EQ(parse_step_window("7"), (StepSpan{7, 7}));
  EXPECT_EQ(parse_step_window("0-3"), (StepSpan{0, 3}));
  for (const char* wrong : {"", "-", "-1-3", "5-4", "a-b", "1-2-3", " 1-2", "1-"}) {
    EXPECT_FALSE(parse_step_window(wrong).has_value()) << wrong;
  }
}

// A program may name each scope differently. Those that are not listed still count.
TEST(Report, ACallListsTheScopesWithTheMostTime) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  constexpr int kScopes = 500;
  std::int64_t at = 0;
  for (int call = 0; call < 10; ++call) {
    builder.phase(main, PhaseKind::kInput, at, at + 1000, 0, "requests");
    at += 1000;
    builder.op(main, "aten::linear", at, at + 5000);
    at += 5000;
    for (int i = 0; i < kScopes; ++i) {
      builder.phase(main, PhaseKind::kScope, at, at + 100 + i, 0, "request " + std::to_string(i));
      at += 100 + i;
    }
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  ASSERT_FALSE(loop.trains);
  const CallMeans means = call_means(loop);
  EXPECT_EQ(means.scopes.size(), kMaxCallScopes);
  EXPECT_TRUE(means.scopes.contains("request 499"));
  EXPECT_TRUE(means.scopes.contains("request 480"));
  double sum = means.input + means.model + means.other;
  for (const auto& [label, ns] : means.scopes) sum += ns;
  EXPECT_NEAR(sum, static_cast<double>(loop.wall.mean), 2);
}

}  // namespace
}  // namespace stepscope::testing

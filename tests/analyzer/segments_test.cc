// Evaluations, checkpoints and the time between epochs are no part of a training loop's steps. The
// cases segments_*.txt have what lies where; here is what follows from it for a whole report.
#include "analyzer/steps/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/analyze.h"
#include "analyzer/steps/segment_marks.h"
#include "analyzer/steps/segment_ranges.h"
#include "analyzer/verdict/run_use.h"
#include "present/verdict_words.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

TEST(SegmentNames, AreWhatPeopleCallThem) {
  for (const char* name : {"evaluation", "Eval", "eval/val", "VALIDATION 3", "validate", "test#2"})
    EXPECT_EQ(segment_of_scope(name), SegmentKind::kEvaluation) << name;
  for (const char* name : {"checkpoint", "Checkpoint 12", "torch.save", "ckpt", "save_checkpoint"})
    EXPECT_EQ(segment_of_scope(name), SegmentKind::kCheckpoint) << name;
  for (const char* name : {"", "forward", "evaluating_reward", "tested", "values", "checkpointed",
                           "7 evaluations", "torch"})
    EXPECT_FALSE(segment_of_scope(name)) << name;
}

// Steps of some 100 ms: 10 % input, then forward, backward and optimizer. After each `every`th step
// the model is evaluated on two batches for `evaluation`, of which half is a wait, and saved.
struct Training {
  int steps = 60;
  int every = 20;
  std::int64_t evaluation = 900 * kMs;
  std::int64_t checkpoint = 40 * kMs;

  [[nodiscard]] RecordingBuilder recorded() const {
    RecordingBuilder builder;
    const ThreadId main = builder.thread("main");
    std::int64_t at = 50 * kMs;
    for (int i = 0; i < steps; ++i) {
      const std::int64_t more = (i % 7) * kMs;
      builder.phase(main, PhaseKind::kInput, at, at + 10 * kMs, 0, "train");
      builder.op(main, "aten::linear", at + 10 * kMs, at + 60 * kMs);
      builder.phase(main, PhaseKind::kBackward, at + 60 * kMs, at + 90 * kMs + more);
      builder.phase(main, PhaseKind::kOptimizer, at + 90 * kMs + more, at + 100 * kMs + more);
      at += 100 * kMs + more;
      if ((i + 1) % every == 0) at = pause(builder, main, at);
    }
    builder.facts.duration_ns = at + 100 * kMs;
    return builder;
  }
  [[nodiscard]] std::int64_t pause(RecordingBuilder& builder, ThreadId main,
                                   std::int64_t at) const {
    if (evaluation > 0) {
      builder.phase(main, PhaseKind::kScope, at, at, 0, "eval()");
      for (int batch = 0; batch < 2; ++batch) {
        const std::int64_t begin = at + batch * evaluation / 2;
        builder.phase(main, PhaseKind::kInput, begin, begin + evaluation / 4, 0, "held out");
        builder.op(main, "aten::linear", begin + evaluation / 4, begin + evaluation / 2 - 1);
      }
      at += evaluation;
      builder.phase(main, PhaseKind::kScope, at - 1, at - 1, 0, "train()");
    }
    if (checkpoint > 0)
      builder.phase(main, PhaseKind::kScope, at, at + checkpoint, 0, "torch.save");
    return at + checkpoint;
  }
};

LoopReport report_of(RecordingBuilder&& builder) {
  auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report->loops.size(), 1u);
  return report->loops.at(0);
}

TEST(Segments, AnEvaluationChangesNothingThatIsSaidOfTheSteps) {
  const LoopReport with = report_of(Training{}.recorded());
  const LoopReport without = report_of(Training{.evaluation = 0, .checkpoint = 0}.recorded());
  EXPECT_EQ(with.wall.mean, without.wall.mean);
  EXPECT_EQ(with.wall.max, without.wall.max);
  EXPECT_EQ(with.shares, without.shares);
  EXPECT_EQ(with.verdict.kind, without.verdict.kind);
  EXPECT_EQ(with.verdict.share, without.verdict.share);
  EXPECT_EQ(with.verdict.confidence, without.verdict.confidence);
  EXPECT_EQ(with.populations.size(), without.populations.size());
  EXPECT_EQ(with.input.waits, without.input.waits);
  EXPECT_EQ(with.input.wait_ns, without.input.wait_ns);
  ASSERT_EQ(with.ops.size(), without.ops.size());
  EXPECT_EQ(with.ops[0].calls, without.ops[0].calls);
  EXPECT_EQ(with.ops[0].self_ns, without.ops[0].self_ns);
}

TEST(Segments, TheRunDividesIntoWhatItDid) {
  const LoopReport loop = report_of(Training{}.recorded());
  const RunUse& use = loop.run_use;
  ASSERT_EQ(use.segments.size(), 2u);
  const SegmentUse& evaluation = use.segments[0];
  EXPECT_EQ(evaluation.kind, SegmentKind::kEvaluation);
  EXPECT_EQ(evaluation.count, 3);
  EXPECT_EQ(evaluation.batches, 6);
  EXPECT_NEAR(static_cast<double>(evaluation.total_ns), 2700e6, 10);
  EXPECT_NEAR(static_cast<double>(evaluation.input_ns), 1350e6, 10);
  EXPECT_EQ(use.segments[1].kind, SegmentKind::kCheckpoint);
  EXPECT_NEAR(static_cast<double>(use.segments[1].total_ns), 120e6, 10);
  EXPECT_EQ(use.startup_ns, 50 * kMs);
  EXPECT_EQ(use.input_ns, 600 * kMs);
  EXPECT_EQ(use.run_ns, use.startup_ns + use.training_ns + evaluation.total_ns +
                            use.segments[1].total_ns + use.rest_ns);
  EXPECT_NEAR(use.goodput(),
              static_cast<double>(use.training_ns - 600 * kMs) / static_cast<double>(use.run_ns),
              1e-12);
}

// Two epochs of two steps each, and a checkpoint between them.
TEST(Segments, TheTimeBetweenEpochsThatACheckpointInterruptsCountsOnce) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  std::int64_t at = 0;
  for (int step = 0; step < 6; ++step) {
    builder.phase(main, PhaseKind::kInput, at, at + 10, 0, "train");
    builder.phase(main, PhaseKind::kBackward, at + 20, at + 30);
    builder.phase(main, PhaseKind::kOptimizer, at + 30, at + 40);
    at += 50;
    if (step % 2 == 0) continue;
    builder.phase(main, PhaseKind::kInputEnd, at, at + 5, 0, "train");
    builder.phase(main, PhaseKind::kScope, at + 10, at + 20, 0, "checkpoint");
    at += 30;
  }
  const RunUse use = report_of(std::move(builder)).run_use;
  const auto between =
      std::find_if(use.segments.begin(), use.segments.end(),
                   [](const SegmentUse& one) { return one.kind == SegmentKind::kBetweenEpochs; });
  ASSERT_NE(between, use.segments.end());
  EXPECT_EQ(between->count, 2);
}

TEST(Segments, FromAFifthOfTheRunOnAnEvaluationHasAVerdictOfItsOwn) {
  const LoopReport large = report_of(Training{}.recorded());
  EXPECT_EQ(large.run_use.segments[0].bottleneck.kind, "input-bound");
  EXPECT_EQ(large.run_use.segments[0].bottleneck.degree, "highly");
  EXPECT_THAT(
      verdict_sentence(large),
      HasSubstr("Evaluation takes 29.5 % of the run and is highly input-bound: it waits for input "
                "for 50.0 % of its time."));
  const LoopReport small = report_of(Training{.evaluation = 300 * kMs}.recorded());
  EXPECT_EQ(small.run_use.segments[0].bottleneck.kind, "");
  EXPECT_EQ(verdict_sentence(small).find("Evaluation"), std::string::npos);
}

TEST(Segments, ALoopThatEvaluatesAfterEachStepTakesItAsAPartOfThem) {
  const LoopReport loop = report_of(Training{.every = 1}.recorded());
  EXPECT_TRUE(loop.segments.empty());
  EXPECT_GT(loop.wall.mean, 1000 * kMs);
}

TEST(Segments, ALoopThatNeverTrainsHasNone) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  for (int i = 0; i < 20; ++i) {
    builder.phase(main, PhaseKind::kInput, i * 100, i * 100 + 20, 0, "test");
    if (i % 5 == 4) builder.phase(main, PhaseKind::kScope, i * 100 + 50, i * 100 + 90, 0, "eval");
  }
  EXPECT_TRUE(report_of(std::move(builder)).segments.empty());
}

// Whatever is marked in whatever order: segments are in order and apart, have no training in them,
// and each instant from the first step to the last is in one step or one segment at most.
TEST(Segments, OfAnyMarksAreApartFromTheStepsAndFromEachOther) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    RecordingBuilder builder;
    const ThreadId main = builder.thread("main");
    std::int64_t at = 0;
    for (int i = 0; i < 80; ++i) {
      at += random() % 3 == 0 ? static_cast<std::int64_t>(random() % 40) : 0;
      const std::int64_t end = at + 1 + static_cast<std::int64_t>(random() % 30);
      const bool rare = random() % 4 == 0;
      switch (random() % 8) {
        case 0:
        case 1:
          builder.phase(main, PhaseKind::kInput, at, end, 0, "loader");
          break;
        case 2:
          builder.phase(main, PhaseKind::kBackward, at, end);
          break;
        case 3:
          builder.phase(main, PhaseKind::kOptimizer, at, end);
          break;
        case 4:
          builder.phase(main, PhaseKind::kInputEnd, at, end, 0, "loader");
          break;
        case 5:
          builder.phase(main, PhaseKind::kScope, at, at, 0, rare ? "train()" : "eval()");
          break;
        case 6:
          if (rare) builder.phase(main, PhaseKind::kScope, at, end + 60, 0, "evaluation");
          break;
        default:
          if (rare) builder.phase(main, PhaseKind::kScope, at, end, 0, "checkpoint");
          break;
      }
      at = end;
    }
    const RecordedRun recording = builder.recording();
    const auto report = analyze(recording);
    ASSERT_TRUE(report.ok());
    for (const LoopReport& loop : report->loops) {
      found += loop.segments.size();
      SessionTime before = session_time(-1);
      for (const LoopSegment& segment : loop.segments) {
        EXPECT_LE(before, segment.start) << seed;
        EXPECT_GT(segment.dur, Duration{0}) << seed;
        EXPECT_LE(segment.input, segment.dur) << seed;
        before = segment.start + segment.dur;
        for (const Phase& phase : recording.phases) {
          if (phase.kind != PhaseKind::kBackward && phase.kind != PhaseKind::kOptimizer) continue;
          EXPECT_FALSE(phase.start < before && segment.start < end_of(phase)) << seed;
        }
      }
      for (std::size_t i = 0; i < loop.steps.size(); ++i) {
        const Step& step = loop.steps[i];
        EXPECT_EQ(step.dur, length_outside_of({step.start, step.end()}, loop.segments)) << seed;
        Duration sum{0};
        for (const StepTime& time : step.times) sum += time.exposed;
        EXPECT_EQ(sum, step.dur) << seed;
        if (i > 0) {
          EXPECT_LE(loop.steps[i - 1].end(), step.start) << seed;
        }
      }
    }
  }
  EXPECT_GT(found, 100u);
}

TEST(OutsideOf, CutsWhatSegmentsCover) {
  std::vector<LoopSegment> segments(2);
  segments[0].start = session_time(10);
  segments[0].dur = Duration(5);
  segments[1].start = session_time(20);
  segments[1].dur = Duration(10);
  const auto of = [&](std::int64_t from, std::int64_t to) {
    return outside_of({session_time(from), session_time(to)}, segments);
  };
  const auto range = [](std::int64_t from, std::int64_t to) {
    return TimeRange{session_time(from), session_time(to)};
  };
  EXPECT_EQ(of(0, 10), std::vector{range(0, 10)});
  EXPECT_EQ(of(0, 40), (std::vector{range(0, 10), range(15, 20), range(30, 40)}));
  EXPECT_EQ(of(12, 25), std::vector{range(15, 20)});
  EXPECT_TRUE(of(21, 29).empty());
  EXPECT_EQ(length_outside_of(range(0, 40), segments), Duration(25));
  EXPECT_TRUE(in_segment(session_time(10), segments));
  EXPECT_FALSE(in_segment(session_time(15), segments));
}

}  // namespace
}  // namespace stepscope::testing

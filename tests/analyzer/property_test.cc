// What must hold for any recording, tried on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/steps/infer_input.h"
#include "analyzer/verdict/summary.h"
#include "present/verdict_words.h"
#include "tests/analyzer/recording_builder.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

constexpr unsigned kRuns = random_runs(200);

class RandomRun {
 public:
  explicit RandomRun(unsigned seed, std::int64_t shift = 0) : random_(seed), now_(shift) {
    main_ = builder_.thread("main");
    helper_ = builder_.thread("autograd");
    builder_.facts.leaf_op_overhead = Duration(pick(0, 20));
    const auto steps = pick(2, 8);
    for (std::int64_t i = 0; i < steps; ++i) add_step();
  }

  RecordingBuilder& builder() { return builder_; }
  [[nodiscard]] ThreadId main() const { return main_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  // Ops that fill parts of [start, end), with children that fill parts of theirs.
  void add_ops(ThreadId thread, std::int64_t start, std::int64_t end, int depth, PhaseKind in) {
    static const std::vector<std::string> kNames = {"aten::a", "aten::b", "c10d::allreduce_"};
    for (std::int64_t at = start + pick(0, 9); at < end;) {
      const std::int64_t stop = std::min(end, at + pick(0, 60));
      const auto scope = pick(0, 9) == 0 ? OpScope::kUser : OpScope::kFunction;
      builder_.op(thread, kNames[static_cast<std::size_t>(pick(0, 2))], at, stop, scope, in);
      if (depth < 4) add_ops(thread, at, stop, depth + 1, in);
      at = stop + pick(0, 15);
    }
  }

  void add_phase(PhaseKind kind, std::int64_t least, std::int64_t most, bool ops) {
    const std::int64_t end = now_ + pick(least, most);
    builder_.phase(main_, kind, now_, end, pick(0, end - now_), "x");
    if (ops) add_ops(main_, now_, end, 0, kind);
    if (kind == PhaseKind::kBackward) add_ops(helper_, now_ - 20, end + 20, 0, kind);
    now_ = end + pick(0, 30);
  }

  void add_step() {
    add_phase(PhaseKind::kInput, 1, 300, pick(0, 1) == 1);
    const std::int64_t scope = now_ - 5;
    add_ops(main_, now_, now_ + 200, 0, PhaseKind::kNone);
    now_ += 200;
    builder_.phase(main_, PhaseKind::kScope, scope, now_ - pick(0, 50), 0, "scope");
    if (pick(0, 2) == 0) add_phase(PhaseKind::kZeroGrad, 1, 20, false);
    add_phase(PhaseKind::kBackward, 1, 300, pick(0, 1) == 1);
    add_phase(PhaseKind::kOptimizer, 1, 200, true);
  }

  std::mt19937 random_;
  RecordingBuilder builder_;
  ThreadId main_ = ThreadId::kNone;
  ThreadId helper_ = ThreadId::kNone;
  std::int64_t now_;
};

AnalysisReport report_of(RecordingBuilder& builder) {
  auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  return *std::move(report);
}

std::int64_t sum_of(const Step& step) {
  std::int64_t sum = 0;
  for (const StepTime& time : step.times) sum += to_ns(time.exposed);
  return sum;
}

// By category, phase and label.
using Times = std::map<std::tuple<Category, PhaseKind, std::string>, std::int64_t>;

Times times_of(const Step& step) {
  Times times;
  for (const StepTime& time : step.times)
    times[{time.category, time.phase, time.label}] += to_ns(time.exposed);
  return times;
}

TEST(Attribution, TimesOfAStepSumToItToTheNanosecond) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RandomRun run(seed);
    const AnalysisReport report = report_of(run.builder());
    ASSERT_EQ(report.loops.size(), 1u) << seed;
    const auto& steps = report.loops[0].steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(sum_of(steps[i]), to_ns(steps[i].dur)) << "seed " << seed << ", step " << i;
      if (i == 0) continue;
      EXPECT_EQ(steps[i].start, steps[i - 1].start + steps[i - 1].dur) << seed;
    }
  }
}

TEST(Attribution, EveryInputWaitIsInputAndNothingElseIs) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RandomRun run(seed);
    std::int64_t waited = 0;
    for (const Phase& phase : run.builder().phases()) {
      if (phase.kind == PhaseKind::kInput) waited += to_ns(phase.dur);
    }
    std::int64_t input = 0;
    const AnalysisReport report = report_of(run.builder());
    for (const Step& step : report.loops[0].steps) {
      for (const StepTime& time : step.times) {
        EXPECT_EQ(time.category == Category::kInput, time.phase == PhaseKind::kInput);
        if (time.category == Category::kInput) input += to_ns(time.exposed);
      }
    }
    EXPECT_EQ(input, waited) << seed;
  }
}

// The same runs without their loader, with numbers on some of the ops that only ever grow.
RecordingBuilder without_loader(unsigned seed) {
  RecordingBuilder builder = RandomRun(seed).builder();
  std::erase_if(builder.phases(), [](const Phase& p) { return p.kind == PhaseKind::kInput; });
  std::sort(builder.ops().begin(), builder.ops().end(),
            [](const Op& a, const Op& b) { return a.start < b.start; });
  std::mt19937 random(seed);
  std::int64_t number = 0;
  for (Op& op : builder.ops()) {
    if (op.phase == PhaseKind::kNone && random() % 2 == 0)
      op.sequence = number += random() % 2 == 0 ? 1 : 0;
  }
  return builder;
}

TEST(Attribution, InferredInputIsAsLongAsItsPiecesAndTheStepsStillAddUp) {
  std::int64_t inferred = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RecordingBuilder builder = without_loader(seed);
    RecordedRun recording = builder.recording();
    auto loops = find_loops(recording.phases, recording.threads);
    ASSERT_TRUE(infer_input(recording, loops).ok());
    std::int64_t waited = 0, input = 0;
    for (const Phase& piece : loops.at(0).input.pieces) waited += to_ns(piece.dur);
    const AnalysisReport report = report_of(builder);
    for (const Step& step : report.loops[0].steps) {
      EXPECT_EQ(sum_of(step), to_ns(step.dur)) << seed;
      input += exposed_ns(step, Category::kInput);
    }
    EXPECT_EQ(input, waited) << seed;
    inferred += input;
  }
  EXPECT_GT(inferred, 0);
}

TEST(Attribution, NoInputIsInferredInsideAnotherPhase) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    RecordingBuilder builder = without_loader(seed);
    RecordedRun recording = builder.recording();
    auto loops = find_loops(recording.phases, recording.threads);
    ASSERT_TRUE(infer_input(recording, loops).ok());
    for (const Phase& piece : loops.at(0).input.pieces) {
      for (const Phase& phase : recording.phases) {
        if (phase.kind == PhaseKind::kScope) continue;  // may go on into the forward pass
        EXPECT_FALSE(phase.start < end_of(piece) && end_of(phase) > piece.start)
            << seed << ": " << phase_name(phase.kind) << " at " << to_ns(phase.start);
      }
    }
  }
}

TEST(Attribution, ShiftingAllTimesChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomRun run(seed), shifted(seed, 987'654'321'012);
    const AnalysisReport one = report_of(run.builder());
    const AnalysisReport other = report_of(shifted.builder());
    for (std::size_t i = 0; i < one.loops[0].steps.size(); ++i) {
      EXPECT_EQ(times_of(one.loops[0].steps[i]), times_of(other.loops[0].steps[i])) << seed;
    }
    EXPECT_EQ(verdict_sentence(one.loops[0]), verdict_sentence(other.loops[0]));
  }
}

// The window in which ops are put in order only bounds memory: any size that holds what interleaves
// gives the same answer.
TEST(Attribution, ASmallReorderWindowGivesTheSameTimes) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomRun run(seed);
    const RecordedRun recording = run.builder().recording();
    const auto loops = find_loops(recording.phases, recording.threads);
    const auto steady = [](std::size_t, std::size_t) { return StepRole::kSteady; };
    const auto wide = attribute(recording, loops, steady);
    AttributeOptions narrow_options;
    narrow_options.reorder_window = 600;  // a few steps
    const auto narrow = attribute(recording, loops, steady, narrow_options);
    ASSERT_TRUE(wide.ok() && narrow.ok());
    EXPECT_EQ((*narrow)[0].late_ops, 0);
    for (std::size_t i = 0; i < (*wide)[0].steps.size(); ++i) {
      EXPECT_EQ((*wide)[0].steps[i].account.slices(), (*narrow)[0].steps[i].account.slices())
          << seed;
    }
  }
}

// One step of very many ops is swept in parts: the sums stay exact and memory bounded.
TEST(Attribution, AWindowSmallerThanAStepKeepsTheSums) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomRun run(seed);
    const RecordedRun recording = run.builder().recording();
    const auto loops = find_loops(recording.phases, recording.threads);
    AttributeOptions options;
    options.reorder_window = 10;
    const auto result = attribute(
        recording, loops, [](std::size_t, std::size_t) { return StepRole::kSteady; }, options);
    ASSERT_TRUE(result.ok());
    for (const AttributedStep& step : (*result)[0].steps)
      EXPECT_EQ(step.account.total(), step.range.length());
  }
}

TEST(Attribution, ThreadsMayInterleaveInAnyWay) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    RandomRun run(seed);
    const AnalysisReport before = report_of(run.builder());
    RecordedRun recording = run.builder().recording();
    // All of the loop's thread first, then all of the other.
    std::stable_sort(run.builder().ops().begin(), run.builder().ops().end(),
                     [](const Op& a, const Op& b) { return a.thread < b.thread; });
    const auto after = analyze(recording);
    ASSERT_TRUE(after.ok());
    for (std::size_t i = 0; i < before.loops[0].steps.size(); ++i) {
      EXPECT_EQ(times_of(before.loops[0].steps[i]), times_of(after->loops[0].steps[i])) << seed;
    }
  }
}

// An op whose work moves into a child that fills it pays for one more start, and nothing else
// changes.
TEST(Attribution, AChildThatFillsItsParentOnlyMovesTheLaunch) {
  const auto times = [](bool child) {
    RecordingBuilder builder;
    builder.facts.leaf_op_overhead = Duration(3);
    const ThreadId main = builder.thread("main");
    for (std::int64_t at : {0, 100, 200}) {
      builder.phase(main, PhaseKind::kInput, at, at + 10);
      builder.op(main, "aten::linear", at + 20, at + 60);
      if (child) builder.op(main, "aten::addmm", at + 30, at + 60);
      builder.phase(main, PhaseKind::kBackward, at + 70, at + 100);
    }
    return times_of(report_of(builder).loops[0].steps[1]);
  };
  Times expected = times(false);
  EXPECT_EQ((expected[{Category::kLaunch, PhaseKind::kForward, ""}]), 3);
  expected[{Category::kLaunch, PhaseKind::kForward, ""}] += 3;
  expected[{Category::kCompute, PhaseKind::kForward, ""}] -= 3;
  EXPECT_EQ(times(true), expected);
}

// Foreign traces hold ops that overlap without nesting.
TEST(Attribution, OverlappingOpsCountOnce) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  for (std::int64_t at : {0, 100}) {
    builder.phase(main, PhaseKind::kInput, at, at + 10);
    builder.op(main, "aten::a", at + 20, at + 50);
    builder.op(main, "aten::b", at + 40, at + 70);
    builder.phase(main, PhaseKind::kBackward, at + 70, at + 100);
  }
  const AnalysisReport report = report_of(builder);
  const Step& step = report.loops[0].steps[0];
  EXPECT_EQ(sum_of(step), 100);
  EXPECT_EQ((times_of(step)[{Category::kCompute, PhaseKind::kForward, ""}]), 50);
}

TEST(Attribution, AnOpThatComesTooLateIsCountedNotPlaced) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  for (std::int64_t at = 0; at < 1000; at += 100) {
    builder.phase(main, PhaseKind::kInput, at, at + 10);
    for (std::int64_t i = 0; i < 10; ++i) builder.op(main, "aten::a", at + 20 + i, at + 21 + i);
    builder.phase(main, PhaseKind::kBackward, at + 70, at + 100);
  }
  RecordedRun recording = builder.recording();
  std::rotate(builder.ops().begin(), builder.ops().begin() + 1,
              builder.ops().end());  // the first comes last
  const auto loops = find_loops(recording.phases, recording.threads);
  AttributeOptions options;
  options.reorder_window = 30;
  const auto result = attribute(
      recording, loops, [](std::size_t, std::size_t) { return StepRole::kSteady; }, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].late_ops, 1);
  EXPECT_EQ((*result)[0].steps[0].account.of(Category::kCompute), Duration(9));
  EXPECT_EQ((*result)[0].steps[0].account.total(), Duration(100));
}

}  // namespace
}  // namespace stepscope::testing

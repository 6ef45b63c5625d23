// Loops that nothing marks, generated with known rounds; and sequences that are no loops.
#include "analyzer/steps/infer_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/steps/cycle.h"
#include "present/verdict_words.h"
#include "tests/analyzer/recording_builder.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

constexpr unsigned kRuns = random_runs(40);

// What a generated loop is like. Times in ns.
struct LoopShape {
  std::int64_t rounds = 60;
  std::int64_t layers = 12;  // equal ones, in the middle of the model
  std::int64_t ops_per_layer = 3;
  bool has_ends = true;  // ops before and after the layers that come once a round
  std::int64_t least_wait = 4'000, most_wait = 9'000;  // before a round; other gaps: 1 to 20
  std::int64_t extra_every = 0;                        // one more op after so many rounds
  std::int64_t evaluate_every = 0;                     // many ops more after so many rounds
  std::int64_t warm_up = 0;                            // ops before the loop, of other names
  std::int64_t first_extra = 0;                        // ops that only the first round has
  std::int64_t vary = 0;                               // layers more or fewer in a round, at most
  std::int64_t stops = 0;  // of 1,000 gaps, how many the system stops the thread in
  std::int64_t shift = 0;
  bool scope = false;       // around each round's ops
  bool main_scope = false;  // around everything
  std::string thread = "main";
};

class GeneratedLoop {
 public:
  GeneratedLoop(unsigned seed, LoopShape shape) : random_(seed), shape_(std::move(shape)) {
    builder_.facts.leaf_op_overhead = Duration(0);
    thread_ = builder_.thread(shape_.thread);
    now_ = shape_.shift;
    for (std::int64_t i = 0; i < shape_.warm_up; ++i) add_op("init" + std::to_string(pick(0, 9)));
    for (std::int64_t i = 0; i < shape_.rounds; ++i) add_round(i);
    if (shape_.main_scope)
      builder_.phase(thread_, PhaseKind::kScope, shape_.shift, now_ + 10, 0, "main");
  }

  RecordingBuilder& builder() { return builder_; }
  [[nodiscard]] const std::vector<std::int64_t>& begins() const { return begins_; }  // of waits
  [[nodiscard]] const std::vector<std::int64_t>& waits() const { return waits_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void add_op(const std::string& name) {
    const std::int64_t end = now_ + pick(20, 400);
    builder_.op(thread_, name, now_, end);
    if (end - now_ > 100) builder_.op(thread_, name + "_inner", now_ + 10, end - 10);
    last_end_ = end;
    now_ = end + (pick(1, 1000) <= shape_.stops ? pick(5'000, 50'000) : pick(1, 20));
  }

  void add_model() {
    if (shape_.has_ends) add_op("embedding");
    const std::int64_t layers = shape_.layers + pick(-shape_.vary, shape_.vary);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (std::int64_t op = 0; op < shape_.ops_per_layer; ++op) add_op("op" + std::to_string(op));
    }
    if (shape_.has_ends) add_op("head");
  }

  void add_round(std::int64_t index) {
    if (last_end_ < 0) last_end_ = now_;
    begins_.push_back(last_end_);
    waits_.push_back(pick(shape_.least_wait, shape_.most_wait));
    now_ = last_end_ + waits_.back();
    const std::int64_t begin = now_;
    add_model();
    if (shape_.scope) builder_.phase(thread_, PhaseKind::kScope, begin, last_end_, 0, "answer");
    for (std::int64_t i = 0; index == 0 && i < shape_.first_extra; ++i)
      add_op("first" + std::to_string(i));
    const auto every = [index](std::int64_t n) { return n > 0 && index % n == n - 1; };
    if (every(shape_.extra_every)) add_op("mean");
    if (!every(shape_.evaluate_every)) return;
    for (int i = 0; i < 40; ++i) add_op("evaluate" + std::to_string(i % 7));
  }

  std::mt19937 random_;
  LoopShape shape_;
  RecordingBuilder builder_;
  ThreadId thread_ = ThreadId::kNone;
  std::int64_t now_ = 0, last_end_ = -1;
  std::vector<std::int64_t> begins_, waits_;
};

AnalysisReport report_of(RecordingBuilder& builder) {
  auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  return *std::move(report);
}

std::int64_t input_of(const Step& step) {
  std::int64_t sum = 0;
  for (const StepTime& time : step.times)
    sum += time.category == Category::kInput ? to_ns(time.exposed) : 0;
  return sum;
}

// Every round is a step and every wait is input, to the nanosecond, except the first wait, whose
// beginning is unknown.
void expect_exact(GeneratedLoop& loop, const std::string& what) {
  const AnalysisReport report = report_of(loop.builder());
  ASSERT_EQ(report.loops.size(), 1u) << what;
  const auto& steps = report.loops[0].steps;
  EXPECT_EQ(report.loops[0].marker, StepMarker::kInferred);
  ASSERT_EQ(steps.size(), loop.begins().size()) << what;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_EQ(to_ns(steps[i].start), loop.begins()[i]) << what << ", step " << i + 1;
    EXPECT_EQ(input_of(steps[i]), loop.waits()[i]) << what << ", step " << i + 1;
  }
}

void expect_exact(const LoopShape& shape, const std::string& what) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    GeneratedLoop loop(seed, shape);
    expect_exact(loop, what + ", seed " + std::to_string(seed));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(InferSteps, EveryRoundIsAStepAndEveryWaitIsInput) { expect_exact(LoopShape{}, "plain"); }

TEST(InferSteps, EqualLayersAloneAreOneStep) {
  LoopShape shape;
  shape.has_ends = false;
  expect_exact(shape, "layers only");
  shape.ops_per_layer = 2;
  shape.extra_every = 7;
  expect_exact(shape, "layers only, and one op more now and then");
}

TEST(InferSteps, AnExtraOpNowAndThenMakesNoStep) {
  for (const std::int64_t every : {3, 5, 10, 20}) {
    LoopShape shape;
    shape.extra_every = every;
    expect_exact(shape, "one op more every " + std::to_string(every));
    shape.layers = 2;
    expect_exact(shape, "small model, one op more every " + std::to_string(every));
  }
}

TEST(InferSteps, AnEvaluationLiesInTheStepThatItFollows) {
  for (const std::int64_t every : {4, 10, 25}) {
    LoopShape shape;
    shape.evaluate_every = every;
    expect_exact(shape, "an evaluation every " + std::to_string(every));
  }
}

TEST(InferSteps, WarmUpChangesNothing) {
  for (const std::int64_t ops : {1, 10, 200}) {
    LoopShape shape;
    shape.warm_up = ops;
    expect_exact(shape, "after " + std::to_string(ops) + " other ops");
    shape.first_extra = 5;
    expect_exact(shape, "and a longer first round");
  }
}

TEST(InferSteps, RoundsMayVaryInLength) {
  for (const std::int64_t vary : {1, 2, 4}) {
    LoopShape shape;
    shape.vary = vary;
    expect_exact(shape, "up to " + std::to_string(vary) + " layers more or fewer");
  }
}

// A first or last round that is shorter than all others may be dropped as incomplete. If the rounds
// differ too much to be found, only the layers repeat, and they must not become steps.
TEST(InferSteps, LayersOfRoundsThatVaryMuchAreNotSteps) {
  for (const std::int64_t vary : {6, 11}) {
    LoopShape shape;
    shape.vary = vary;
    for (unsigned seed = 0; seed < kRuns; ++seed) {
      GeneratedLoop loop(seed, shape);
      const AnalysisReport report = report_of(loop.builder());
      if (report.loops.empty()) continue;
      EXPECT_GE(report.loops[0].steps.size(), 58u) << seed;
      EXPECT_LE(report.loops[0].steps.size(), 60u) << seed;
    }
  }
}

TEST(InferSteps, AScopeAroundEverythingHidesNothing) {
  LoopShape shape;
  shape.main_scope = true;
  shape.warm_up = 20;
  expect_exact(shape, "in main");
}

TEST(InferSteps, AScopeThatRepeatsIsTheStep) {
  LoopShape shape;
  shape.scope = true;
  expect_exact(shape, "scopes and waits");
  shape.has_ends = false;
  shape.least_wait = 5;  // nothing stands out
  shape.most_wait = 15;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    GeneratedLoop loop(seed, shape);
    const AnalysisReport report = report_of(loop.builder());
    ASSERT_EQ(report.loops.size(), 1u) << seed;
    EXPECT_EQ(report.loops[0].steps.size(), 60u) << seed;
    for (const Step& step : report.loops[0].steps) EXPECT_EQ(input_of(step), 0) << seed;
  }
}

// Without waits, only the ops that occur once a round distinguish the model from its layers.
TEST(InferSteps, LayersAreNotStepsEvenWithoutAWait) {
  LoopShape shape;
  shape.least_wait = 1;
  shape.most_wait = 20;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    GeneratedLoop loop(seed, shape);
    const AnalysisReport report = report_of(loop.builder());
    ASSERT_EQ(report.loops.size(), 1u) << seed;
    EXPECT_EQ(report.loops[0].steps.size(), 60u) << seed;
    for (const Step& step : report.loops[0].steps) EXPECT_EQ(input_of(step), 0) << seed;
  }
}

// A busy machine stops the thread anywhere, for longer than it ever waits.
TEST(InferSteps, StopsAreNotWaits) {
  LoopShape shape;
  shape.stops = 10;
  expect_exact(shape, "with stops");
  shape.least_wait = 1;
  shape.most_wait = 20;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    GeneratedLoop loop(seed, shape);
    const AnalysisReport report = report_of(loop.builder());
    ASSERT_EQ(report.loops.size(), 1u) << seed;
    EXPECT_EQ(report.loops[0].steps.size(), 60u) << seed;
    for (const Step& step : report.loops[0].steps) EXPECT_EQ(input_of(step), 0) << seed;
  }
}

// Where ops were recorded in windows, the time between two windows is no wait.
TEST(InferSteps, OfSeveralWindowsTheLongestIsTheLoop) {
  GeneratedLoop loop(3, LoopShape{});
  const auto windows = [&loop] {
    auto& ops = loop.builder().ops();
    const auto round_of = [&loop](const Op& op) {
      const auto& begins = loop.begins();
      return std::upper_bound(begins.begin(), begins.end(), to_ns(op.start)) - begins.begin();
    };
    std::erase_if(ops, [&](const Op& op) { return round_of(op) > 15 && round_of(op) <= 35; });
  };
  windows();
  EXPECT_EQ(report_of(loop.builder()).loops.at(0).steps.size(), 40u) << "one long wait";
  loop.builder().facts.windowed = true;
  const AnalysisReport report = report_of(loop.builder());
  ASSERT_EQ(report.loops.size(), 1u);
  const auto& steps = report.loops[0].steps;
  ASSERT_EQ(steps.size(), 25u);
  for (std::size_t i = 1; i < steps.size(); ++i)
    EXPECT_EQ(input_of(steps[i]), loop.waits()[i + 35]);
}

TEST(InferSteps, FewRoundsAreNotALoop) {
  LoopShape shape;
  for (shape.rounds = 0; shape.rounds < static_cast<std::int64_t>(kMinRounds); ++shape.rounds) {
    shape.has_ends = shape.rounds % 2 == 0;
    shape.layers = 1;
    GeneratedLoop loop(7, shape);
    EXPECT_TRUE(report_of(loop.builder()).loops.empty()) << shape.rounds;
  }
  shape.rounds = kMinRounds;
  GeneratedLoop loop(7, shape);
  EXPECT_EQ(report_of(loop.builder()).loops.size(), 1u);
}

TEST(InferSteps, ShiftingTimeAndRenamingThreadsChangesNothing) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    LoopShape shape;
    shape.extra_every = 9;
    GeneratedLoop plain(seed, shape);
    shape.shift = 123'456'789'012;
    shape.thread = "worker";
    GeneratedLoop moved(seed, shape);
    const AnalysisReport one = report_of(plain.builder()), other = report_of(moved.builder());
    ASSERT_EQ(one.loops.size(), 1u);
    ASSERT_EQ(other.loops.size(), 1u);
    ASSERT_EQ(one.loops[0].steps.size(), other.loops[0].steps.size());
    for (std::size_t i = 0; i < one.loops[0].steps.size(); ++i) {
      EXPECT_EQ(to_ns(one.loops[0].steps[i].start) + shape.shift,
                to_ns(other.loops[0].steps[i].start));
      EXPECT_EQ(one.loops[0].steps[i].dur, other.loops[0].steps[i].dur);
    }
    EXPECT_EQ(verdict_sentence(one.loops[0]), verdict_sentence(other.loops[0]));
  }
}

// Two threads that repeat, each in a process of its own or both in one.
class TwoThreads {
 public:
  explicit TwoThreads(std::int64_t process_of_second) {
    for (const std::int64_t process : {std::int64_t{1}, process_of_second}) {
      const std::string name = first_ ? "first" : "second";
      const ThreadId thread = builder_.thread(name, process);
      first_ = false;
      for (std::int64_t at = 0; at < 10'000; at += 500) {
        builder_.op(thread, "aten::to", at, at + 20);
        builder_.op(thread, "aten::mm", at + 21, at + 100);
      }
    }
    recording_ = builder_.recording();
  }

  RecordedRun& recording() { return recording_; }
  std::vector<std::string> loops() {
    const auto report = analyze(recording_);
    EXPECT_TRUE(report.ok());
    std::vector<std::string> names;
    for (const LoopReport& loop : report->loops) names.push_back(loop.thread_name);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  RecordingBuilder builder_;
  RecordedRun recording_;
  bool first_ = true;
};

using Names = std::vector<std::string>;

TEST(InferSteps, ThreadsBesideARepeatingMainThreadAreNotLoops) {
  TwoThreads run(1);
  EXPECT_EQ(run.loops(), (Names{"first", "second"})) << "no main thread: a server";
  run.recording().threads[0].tid = run.recording().processes[0].pid;
  EXPECT_EQ(run.loops(), (Names{"first"}));
}

TEST(InferSteps, ProcessesThatServeALoopHaveNone) {
  TwoThreads run(2);
  EXPECT_EQ(run.loops(), (Names{"first", "second"})) << "two ranks";
  run.recording().processes[1].parent_pid = run.recording().processes[0].pid;
  EXPECT_EQ(run.loops(), (Names{"first"})) << "a worker";
  run.recording().processes[1].parent_pid = 7;
  StoredProcess between;
  between.id = ProcessId{3};
  between.pid = 7;
  between.parent_pid = run.recording().processes[0].pid;
  run.recording().processes.push_back(between);
  EXPECT_EQ(run.loops(), (Names{"first"})) << "a worker's worker";
}

TEST(InferSteps, WhereALoopIsMarkedNothingIsInferred) {
  for (const std::int64_t process : {1, 2}) {
    TwoThreads run(process);
    for (std::int64_t at = 0; at < 10'000; at += 500) {
      run.recording().phases.push_back({run.recording().threads[0].id,
                                        PhaseKind::kInput,
                                        StringId::kNone,
                                        session_time(at),
                                        Duration(10),
                                        {}});
    }
    if (process == 2) run.recording().processes[1].parent_pid = run.recording().processes[0].pid;
    EXPECT_EQ(run.loops(), (Names{"first"}));
  }
}

// The window only bounds memory: cutting the recording in parts yields the same rounds.
TEST(InferSteps, ASmallWindowFindsTheSameRounds) {
  for (unsigned seed = 0; seed < kRuns / 4; ++seed) {
    LoopShape shape;
    shape.rounds = 200;
    shape.extra_every = 11;
    shape.main_scope = true;
    GeneratedLoop generated(seed, shape);
    const RecordedRun recording = generated.builder().recording();
    const auto read = [&](std::size_t window) {
      RoundReader rounds;
      LoopItems items(
          recording.phases, [&](std::vector<LoopItem> part) { rounds.add(std::move(part)); },
          window);
      EXPECT_TRUE(recording
                      .for_each_op([&](const Op& op) {
                        items.add(op, OpClass::kWork);
                        return true;
                      })
                      .ok());
      items.finish();
      Loop loop;
      rounds.finish(loop);
      return loop;
    };
    const Loop whole = read(kItemWindow), parts = read(1000);
    EXPECT_EQ(whole.steps.size(), 200u) << seed;
    EXPECT_EQ(whole.steps, parts.steps) << seed;
    EXPECT_EQ(whole.input.begins, parts.input.begins) << seed;
  }
}

// Ops in no order, with gaps of several kinds.
TEST(InferSteps, RandomOpsAreNotALoop) {
  for (unsigned seed = 0; seed < kRuns * 10; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&random](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    RecordingBuilder builder;
    const ThreadId main = builder.thread("main");
    const std::int64_t names = pick(3, 30), count = pick(60, 1500), kind = pick(0, 2);
    std::exponential_distribution<double> exponential(0.01);
    std::lognormal_distribution<double> heavy(3, 1.5);
    std::int64_t now = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      // Some names are more frequent than others.
      const std::int64_t name = std::min(pick(0, names - 1), pick(0, names - 1));
      const std::int64_t end = now + pick(10, 200);
      builder.op(main, "op" + std::to_string(name), now, end);
      now = end + (kind == 0   ? pick(1, 100)
                   : kind == 1 ? static_cast<std::int64_t>(exponential(random))
                               : static_cast<std::int64_t>(heavy(random)));
    }
    const AnalysisReport report = report_of(builder);
    EXPECT_TRUE(report.loops.empty()) << "seed " << seed << ": " << report.loops[0].steps.size()
                                      << " steps in " << count << " ops of " << names << " names";
  }
}

}  // namespace
}  // namespace stepscope::testing

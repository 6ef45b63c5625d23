// Threads that were ready and had no core: what is said of the loop, who took the cores, what is
// advised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "analyzer/analyze.h"
#include "present/verdict_words.h"
#include "present/what_if_answer.h"
#include "tests/analyzer/advice_run.h"

namespace stepscope {
namespace {

using testing::find;
using ::testing::HasSubstr;
using testing::kMs;
using ::testing::Not;
using testing::RecordingBuilder;

constexpr int kSteps = 100;
constexpr std::int64_t kStep = 10 * kMs;

// Steps of 10 ms: a wait of `input` for a loader, of which `input_starved` without a core and
// `input_busy` at work, then an op, of which `compute_starved` without a core. Two cores.
struct Starved {
  std::int64_t input = 0;
  std::int64_t input_starved = 0;
  std::int64_t input_busy = 0;
  std::int64_t compute_starved = 0;
  double cores = 2;
  double machine_busy = 2;  // cores
};

class StarvedRun {
 public:
  explicit StarvedRun(const Starved& given) : given_(given) {
    builder_.facts.cpu_count = 2;
    builder_.facts.leaf_op_overhead = Duration(1000);
    loop_ = builder_.thread("main");
    for (int i = 0; i < kSteps; ++i) add_step(i * kStep);
    watch("main", 0, 1 - share_starved(), share_starved());
    per_second(ProcessId::kNone, "cpu_busy_ns", given.machine_busy * 1e9);
    gauge("cores_allowed", given.cores);
  }

  // A thread of the loop's process that nobody marked; with `worker` of a child that is not
  // recorded.
  void watch(const std::string& name, std::int64_t number, double running, double starved,
             bool worker = false, std::int64_t cores = 2) {
    const auto id = static_cast<WatchedThreadId>(builder_.watched.size() + 1);
    StoredWatchedThread thread;
    thread.id = id;
    thread.process = ProcessId{1};
    const RecordedRun recording = builder_.recording();
    const std::int64_t pid = recording.processes.at(0).pid;
    thread.pid = worker ? pid + 1000 : pid;
    thread.tid = number == 0 ? recording.threads.at(0).tid : 9000 + number;
    thread.name = name;
    builder_.watched.push_back(thread);
    for (int i = 0; i <= kSteps; i += 10) {
      const auto at = static_cast<double>(i * kStep);
      builder_.readings.push_back({id, session_time(i * kStep),
                                   Duration(static_cast<std::int64_t>(running * at)),
                                   Duration(static_cast<std::int64_t>(starved * at)), cores});
    }
  }
  void per_second(ProcessId process, const char* counter, double ns) {
    for (int i = 0; i <= kSteps; i += 10) {
      builder_.samples.push_back({process, builder_.intern(counter), session_time(i * kStep),
                                  static_cast<std::int64_t>(ns * i * kStep / 1e9)});
    }
  }
  void gauge(const char* counter, double value) {
    builder_.samples.push_back({ProcessId{1}, builder_.intern(counter), session_time(0),
                                static_cast<std::int64_t>(value)});
  }
  LoopReport report() {
    const auto report = analyze(builder_.recording());
    EXPECT_TRUE(report.ok());
    return report->loops.at(0);
  }
  RecordingBuilder& builder() { return builder_; }

 private:
  double share_starved() const {
    return static_cast<double>(given_.input_starved + given_.compute_starved) / kStep;
  }
  void add_step(std::int64_t at) {
    const std::int64_t waited = at + given_.input;
    builder_.phase(loop_, PhaseKind::kInput, at, waited, given_.input_busy, "train");
    builder_.op(loop_, "aten::linear", waited, at + kStep - 1000);
    builder_.phase(loop_, PhaseKind::kBackward, at + kStep - 1000, at + kStep);
    if (given_.input > 0) {
      builder_.stretches.push_back({loop_, session_time(at), Duration(given_.input),
                                    Duration(given_.input_busy), Duration(given_.input_starved)});
    }
    const std::int64_t rest = kStep - 1000 - given_.input;
    builder_.stretches.push_back({loop_, session_time(waited), Duration(rest),
                                  Duration(rest - given_.compute_starved),
                                  Duration(given_.compute_starved)});
  }

  const Starved given_;
  RecordingBuilder builder_;
  ThreadId loop_{};
};

TEST(Starvation, AFifthOfTheStepNamesTheVerdict) {
  const LoopReport loop = StarvedRun({.compute_starved = 3 * kMs}).report();
  EXPECT_EQ(loop.verdict.kind, "cpu-starved");
  EXPECT_NEAR(loop.verdict.share, 0.3, 1e-3);
  EXPECT_NEAR(loop.verdict.ci_low, 0.3, 1e-2);
  EXPECT_NEAR(loop.starvation.loop_share, 0.3, 1e-3);
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("30.0 % of the step is spent ready to run, without a core. The loop thread "
                        "was ready and had no core. Other programs took 1.3 of the 2 cores."));
  EXPECT_EQ(loop.steps[50].kinds.at(0).kind, "cpu-starved");
  EXPECT_EQ(loop.verdict.evidence.size(), 1u);
}

// Each parameter has its own optimizer, which steps in a hook of the backward pass.
TEST(Starvation, AnUpdateInABackwardPassIsStarvedToo) {
  RecordingBuilder builder;
  builder.facts.cpu_count = 2;
  const ThreadId loop = builder.thread("main");
  for (int i = 0; i < kSteps; ++i) {
    const std::int64_t at = i * kStep;
    builder.phase(loop, PhaseKind::kInput, at, at + kMs, kMs, "train");
    builder.op(loop, "aten::linear", at + kMs, at + 2 * kMs);
    builder.phase(loop, PhaseKind::kBackward, at + 2 * kMs, at + kStep);
    builder.op(loop, "MmBackward0", at + 2 * kMs, at + 3 * kMs, OpScope::kBackwardFunction);
    builder.phase(loop, PhaseKind::kOptimizer, at + 3 * kMs, at + kStep);
    builder.op(loop, "aten::add_", at + 3 * kMs, at + kStep);
    builder.stretches.push_back(
        {loop, session_time(at), Duration(kStep), Duration(kStep / 2), Duration(kStep / 2)});
  }
  StoredWatchedThread thread;
  thread.id = WatchedThreadId{1};
  thread.process = ProcessId{1};
  const RecordedRun recording = builder.recording();
  thread.pid = recording.processes.at(0).pid;
  thread.tid = recording.threads.at(0).tid;
  builder.watched.push_back(thread);
  for (int i = 0; i <= kSteps; ++i) {
    const Duration half(i * kStep / 2);
    builder.readings.push_back({thread.id, session_time(i * kStep), half, half, 2});
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopVerdict& verdict = report->loops.at(0).verdict;
  EXPECT_EQ(verdict.kind, "cpu-starved");
  EXPECT_NEAR(verdict.share, 0.5, 0.01);
  EXPECT_LE(verdict.ci_low, verdict.share);
  EXPECT_GE(verdict.ci_high, verdict.share);
}

TEST(Starvation, ATenthIsListedAndLowersTheConfidence) {
  const LoopReport loop = StarvedRun({.compute_starved = 13 * kMs / 10}).report();
  EXPECT_EQ(loop.verdict.kind, "compute-bound");
  EXPECT_EQ(loop.verdict.confidence, "medium");
  EXPECT_THAT(verdict_doubts(loop), ::testing::Contains("threads had no core"));
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("Also: cpu-starved 13.0 %."));
}

TEST(Starvation, AQuietMachineHasNone) {
  const LoopReport loop = StarvedRun({.machine_busy = 1}).report();
  EXPECT_TRUE(loop.starvation.known);
  EXPECT_EQ(loop.starvation.share, 0);
  EXPECT_EQ(loop.verdict.confidence, "high");
  EXPECT_THAT(verdict_sentence(loop), Not(HasSubstr("core")));
  EXPECT_EQ(loop.starvation.cores.taker, CoreTaker::kUnknown);
}

// A thread that waits for a core needs no second one: the bound of a step with workers counts only
// the time that threads ran, and the measured step had all of it.
TEST(Starvation, NoPredictionIsAboveTheMeasuredStep) {
  for (const std::int64_t starved : {1 * kMs, 2 * kMs, 3 * kMs}) {
    StarvedRun run({.input = 4 * kMs,
                    .input_starved = starved,
                    .input_busy = 4 * kMs - starved,
                    .compute_starved = 2 * kMs});
    const auto answer = what_if(run.builder().recording(), {.input = {"workers=1"}});
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_LE(answer->predicted.step_ns, kStep * 1.001) << starved;
  }
}

// Others use all of the two cores that the loop does not: it can have one of them whenever it is
// ready, and both if they stop.
TEST(Starvation, CoresThatOthersUseAreShared) {
  StarvedRun run(
      {.input = 4 * kMs, .input_starved = kMs, .input_busy = 3 * kMs, .compute_starved = 2 * kMs});
  const auto answer = what_if(run.builder().recording(), {.input = {"workers=1"}});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NEAR(answer->predicted.step_ns, 7 * kMs, kMs / 50.0) << "what threads ran, on one core";
  EXPECT_NEAR(answer->predicted.ci95.low, 6 * kMs, kMs / 50.0) << "the loop's own part";
  EXPECT_NEAR(answer->predicted.ci95.high, 7 * kMs, kMs / 50.0);
  ASSERT_EQ(answer->notes.size(), 1U);
  EXPECT_THAT(what_if_note_text(answer->notes[0]), HasSubstr(" 1 of 2 cores (other programs use"));
  EXPECT_THAT(what_if_note_text(answer->notes[0]), HasSubstr("or less if they use less."));
}

// Steps of a 1 ms op and 9 ms of the program's own code, of which it runs for `running`.
LoopReport code_between_ops(std::int64_t running) {
  RecordingBuilder builder;
  const ThreadId loop = builder.thread("main");
  for (std::int64_t at = 0; at < 60 * kStep; at += kStep) {
    builder.phase(loop, PhaseKind::kInput, at, at + 1000, 1000, "train");
    builder.op(loop, "aten::linear", at + 1000, at + kMs - 1000);
    builder.phase(loop, PhaseKind::kBackward, at + kMs - 1000, at + kMs);
    builder.stretches.push_back(
        {loop, session_time(at), Duration(kMs), Duration(kMs), Duration(0)});
    builder.stretches.push_back(
        {loop, session_time(at + kMs), Duration(9 * kMs), Duration(running), Duration(0)});
  }
  const auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  return report->loops.at(0);
}

TEST(Starvation, CodeThatIsBlockedIsNotSaidToRun) {
  const LoopReport sleeps = code_between_ops(kMs / 2);
  EXPECT_EQ(sleeps.verdict.kind, "host-bound");
  EXPECT_THAT(verdict_sentence(sleeps),
              HasSubstr("The loop thread is blocked for 94.4 % of this time: by a sleep, a lock, a "
                        "disk or the network."));
  EXPECT_THAT(verdict_sentence(code_between_ops(9 * kMs)),
              HasSubstr("It runs on the loop thread between the ops: the program's own"));
}

TEST(Starvation, WithoutReadingsNothingIsKnown) {
  StarvedRun run({.compute_starved = 3 * kMs});
  run.builder().stretches.clear();
  run.builder().readings.clear();
  run.builder().watched.clear();
  const LoopReport loop = run.report();
  EXPECT_FALSE(loop.starvation.known);
  EXPECT_FALSE(loop.input.schedule_known);
  EXPECT_EQ(loop.verdict.kind, "compute-bound");
}

TEST(Starvation, WithoutStretchesTheSamplesSayIt) {
  StarvedRun run({.compute_starved = 3 * kMs});
  run.builder().stretches.clear();
  EXPECT_NEAR(run.report().starvation.loop_share, 0.3, 1e-2);
}

TEST(Starvation, ASplitOfAWaitIsRunningStarvedAndBlocked) {
  const LoopReport loop =
      StarvedRun({.input = 4 * kMs, .input_starved = 1 * kMs, .input_busy = 2 * kMs}).report();
  EXPECT_NEAR(loop.input.busy_share(), 0.5, 1e-9);
  EXPECT_NEAR(loop.input.starved_share(), 0.25, 1e-9);
  EXPECT_NEAR(loop.input.blocked_share(), 0.25, 1e-9);
  EXPECT_NEAR(loop.starvation.phases.input.starved, 1 * kMs, 1);
  EXPECT_NEAR(loop.starvation.phases.input.blocked, 1 * kMs, 1);
  EXPECT_NEAR(loop.starvation.phases.input.running, 2 * kMs, 1);
  EXPECT_THAT(verdict_sentence(loop), HasSubstr("works for 50.0 % of the wait, has no core for "
                                                "25.0 % and is blocked for 25.0 %."));
  EXPECT_THAT(verdict_sentence(loop), Not(HasSubstr("workers, a disk")));
}

TEST(Starvation, WithoutWorkersTheBlockedLoopThreadPreparesTheBatches) {
  const auto why = [](const std::string& loader) {
    RecordingBuilder builder = testing::record({.input = 8 * kMs, .busy = 0, .loader = loader});
    return verdict_sentence(analyze(builder.recording())->loops.at(0));
  };
  EXPECT_THAT(
      why("DataLoader(batch_size=8)"),
      HasSubstr("The loop thread prepares the batches itself, and is blocked for 100.0 % of "
                "the wait: by a disk, the network, a lock or a sleep."));
  EXPECT_THAT(why("DataLoader(batch_size=8, num_workers=2)"), HasSubstr("workers, a disk"));
  EXPECT_THAT(why("my own loader"), HasSubstr("workers, a disk")) << "it may have threads";
}

TEST(Starvation, AWaitThatWasStarvedIsNoWaitForInput) {
  const LoopReport loop =
      StarvedRun({.input = 15 * kMs / 10, .input_starved = 14 * kMs / 10}).report();
  EXPECT_EQ(loop.verdict.kind, "compute-bound") << verdict_sentence(loop);
  EXPECT_NEAR(share_of(loop.shares, Category::kInput), 0.15, 1e-3) << "of the breakdown it is";
}

// Two shares of input are then in one text, and the smaller one says why.
TEST(Starvation, AShareNearAThresholdIsSaidWithoutTheStarvedTime) {
  const LoopReport starved =
      StarvedRun({.input = 22 * kMs / 10, .input_starved = 28 * kMs / 100}).report();
  EXPECT_EQ(starved.verdict.degree, "moderately");
  EXPECT_NEAR(starved.verdict.share, 0.22, 1e-3);
  EXPECT_THAT(verdict_sentence(starved),
              HasSubstr("The share of input, 19.2 % without starved time, is within one percentage "
                        "point of a threshold"));
  const LoopReport quiet = StarvedRun({.input = 192 * kMs / 100}).report();
  EXPECT_THAT(verdict_sentence(quiet),
              HasSubstr("The share of input, 19.2 %, is within one percentage point"));
}

TEST(Starvation, ALargerWaitForInputIsTheVerdict) {
  const LoopReport loop = StarvedRun({.input = 6 * kMs, .compute_starved = 3 * kMs}).report();
  EXPECT_EQ(loop.verdict.kind, "input-bound");
  EXPECT_NEAR(loop.verdict.share, 0.6, 1e-3);
  EXPECT_EQ(loop.verdict.confidence, "low");
}

// In each step of 10 ms 4 ms without ops, which is taken for a wait, and then 4 ms of ops; for half
// of these 8 ms, the thread had no core. Each starved moment counts once, where it was.
TEST(Starvation, AnInferredWaitIsStarvedLikeWhatFollowsIt) {
  RecordingBuilder builder;
  builder.facts.leaf_op_overhead = Duration(1000);
  const ThreadId thread = builder.thread("main");
  for (int i = 0; i < kSteps; ++i) {
    const std::int64_t at = i * kStep;
    // The first makes a node, so the second has a higher number: the forward pass begins with it.
    builder.op(thread, "aten::linear", at + 4 * kMs, at + 7 * kMs);
    builder.ops().back().sequence = i;
    builder.op(thread, "aten::sum", at + 7 * kMs, at + 8 * kMs);
    builder.ops().back().sequence = i + 1;
    builder.phase(thread, PhaseKind::kBackward, at + 8 * kMs, at + 9 * kMs);
    builder.op(thread, "aten::mm", at + 8 * kMs, at + 9 * kMs);
    builder.phase(thread, PhaseKind::kOptimizer, at + 9 * kMs, at + kStep);
    builder.stretches.push_back(
        {thread, session_time(at), Duration(8 * kMs), Duration(4 * kMs), Duration(4 * kMs)});
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  EXPECT_TRUE(loop.input.inferred);
  EXPECT_NEAR(share_of(loop.shares, Category::kInput), 0.4, 0.01);
  EXPECT_NEAR(share_of(loop.starvation.net, Category::kInput), 0.2, 0.01);
  EXPECT_NEAR(loop.starvation.loop_share, 0.4, 1e-3);
}

// Spinning beside starved threads is starvation in effect.
TEST(Starvation, ThreadsThatComputeForTheLoopCount) {
  StarvedRun run({});
  for (int i = 1; i <= 3; ++i) run.watch("pool", i, 0.33, 0.6);
  const LoopReport loop = run.report();
  EXPECT_EQ(loop.verdict.kind, "cpu-starved");
  EXPECT_NEAR(loop.starvation.pool_share, 0.6, 1e-2);
  EXPECT_EQ(loop.starvation.cores.taker, CoreTaker::kOwnThreads);
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("The threads that compute beside the loop thread were ready and had no "
                        "core. 4 busy threads of the program share 2 cores."));
  const auto told = make_advice(loop);
  const Advice* advice = find(told, "fewer-threads");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->title, "compute with at most 2 threads");
  EXPECT_EQ(advice->saves_ns, 0) << "not predicted";
}

TEST(Starvation, AnIdleThreadBesideTheLoopDoesNotCount) {
  StarvedRun run({});
  run.watch("pool", 1, 0.9, 0.0);
  run.watch("logger", 2, 0.001, 0.002);
  EXPECT_LT(run.report().starvation.share, 0.01);
}

// Workers that are independent of one another keep the cores busy however many there are.
TEST(Starvation, StarvedWorkersCountWhereTheLoopWaitsForThem) {
  StarvedRun run({.input = 8 * kMs});
  for (int i = 1; i <= 4; ++i) run.watch("worker", i, 0.45, 0.5, /*worker=*/true);
  const LoopReport loop = run.report();
  EXPECT_NEAR(loop.starvation.worker_share, 0.4, 1e-2);
  EXPECT_EQ(loop.verdict.kind, "cpu-starved") << verdict_sentence(loop);
  EXPECT_EQ(loop.starvation.workers.size(), 4u);
  EXPECT_EQ(find(make_advice(loop), "fewer-threads"), nullptr);
}

TEST(Starvation, StarvedWorkersWithoutAWaitCostNothing) {
  StarvedRun run({});
  for (int i = 1; i <= 4; ++i) run.watch("worker", i, 0.2, 0.5, /*worker=*/true);
  EXPECT_EQ(run.report().starvation.share, 0);
}

TEST(Starvation, AQuotaIsNamedAndItsRaisePredicted) {
  StarvedRun run({.compute_starved = 6 * kMs, .machine_busy = 0.4});
  run.gauge("cpu_quota_millicores", 400);
  run.per_second(ProcessId{1}, "cpu_throttled_ns", 0.6e9);
  const LoopReport loop = run.report();
  EXPECT_EQ(loop.starvation.cores.taker, CoreTaker::kQuota);
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("The CPU quota of its control group, 0.4 cores, held "
                        "the program back for 60.0 % of the time."));
  const auto told = make_advice(loop);
  const Advice* advice = find(told, "cpu-quota");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->title, "raise the CPU quota to 1 core");
  EXPECT_NEAR(static_cast<double>(advice->predicted_step_ns), 4 * kMs, 0.1 * kMs);
}

TEST(Starvation, ThreadsTiedToOneCoreAreToldToSpread) {
  StarvedRun run({.input = 8 * kMs, .machine_busy = 1.2});
  for (int i = 1; i <= 2; ++i) run.watch("worker", i, 0.45, 0.5, /*worker=*/true, /*cores=*/1);
  const LoopReport loop = run.report();
  EXPECT_EQ(loop.starvation.cores.taker, CoreTaker::kPinning);
  EXPECT_THAT(verdict_sentence(loop),
              HasSubstr("The threads are pinned to 1 core while 0.8 cores stood idle."));
  const auto told = make_advice(loop);
  const Advice* advice = find(told, "spread-threads");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->title, "let the workers run on all cores");
}

// 5 ms of input and 5 ms of the rest, both work: what a worker can hide depends on the cores left.
TEST(Starvation, WorkersGetTheCoresThatOtherProgramsLeave) {
  const auto predicted_ms = [](double others) {
    StarvedRun run({.input = 5 * kMs, .input_busy = 5 * kMs, .machine_busy = 1 + others});
    const LoopReport loop = run.report();
    const auto told = make_advice(loop);
    const Advice* prefetch = find(told, "input-prefetch");
    return prefetch == nullptr ? 10 : static_cast<double>(prefetch->predicted_step_ns) / kMs;
  };
  EXPECT_NEAR(predicted_ms(0), 5, 0.05);
  EXPECT_NEAR(predicted_ms(0.8), 10 / 1.2, 0.05);
  EXPECT_NEAR(predicted_ms(1), 10, 0.05);
}

}  // namespace
}  // namespace stepscope

// Predictions of step times, on runs whose answers are known by their making.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/simulate/predictor.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/what_if.h"
#include "present/replay_words.h"
#include "store/limits.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

// A training loop with all that a host has: a loader, ops in ops, an autograd thread, collectives,
// a scope now and then; lengths at random.
RecordingBuilder random_training(unsigned seed, int steps) {
  std::mt19937 random(seed);
  const auto some = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)) + 1;
  };
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main"), autograd = builder.thread("autograd"),
                 gloo = builder.thread("gloo");
  builder.facts.leaf_op_overhead = Duration(3);
  std::int64_t at = 0;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t input = some(400);
    builder.phase(main, PhaseKind::kInput, at, at + input, input / 2, "train");
    if (input > 50) builder.op(main, "aten::div", at + 10, at + 40);
    at += input + some(20);
    for (int op = 0; op < 5; ++op) {
      const std::int64_t dur = some(200);
      builder.op(main, "aten::linear", at, at + dur);
      if (dur > 20) builder.op(main, "aten::addmm", at + 5, at + dur - 5);
      at += dur + some(9);
    }
    const std::int64_t backward = at, first = at + some(10), length = some(300) + 20;
    builder.op(autograd, "AddmmBackward0", first, first + length, OpScope::kBackwardFunction,
               PhaseKind::kBackward);
    const std::int64_t second = first + length + some(15);
    builder.op(autograd, "MmBackward0", second, second + 100, OpScope::kBackwardFunction,
               PhaseKind::kBackward);
    builder.op(main, "c10d::allreduce_", second + 30, second + 40);
    builder.op(gloo, "gloo:all_reduce", second + 45, second + 100 + some(100));
    at = second + 220;
    builder.phase(main, PhaseKind::kBackward, backward, at);
    if (some(4) == 1) {
      builder.phase(main, PhaseKind::kScope, at, at + 500, 0, "logging");
      at += 500;
    }
    builder.phase(main, PhaseKind::kOptimizer, at, at + 60);
    builder.op(main, "aten::add_", at + 5, at + 50);
    at += 60 + some(30);
  }
  return builder;
}

LoopReport report_of(RecordingBuilder& builder) {
  AnalyzeOptions options;
  options.keep_predictor = true;
  auto report = analyze(builder.recording(), options);
  EXPECT_TRUE(report.ok());
  return report->loops.at(0);
}

TEST(Predictor, AReplayWithoutChangesGivesWhatWasMeasured) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    RecordingBuilder builder = random_training(seed, 40);
    const LoopReport loop = report_of(builder);
    EXPECT_EQ(loop.replay.withheld, Withheld::kNothing);
    EXPECT_EQ(loop.replay.steps, static_cast<std::int64_t>(loop.analysed.size()));
    EXPECT_NEAR(loop.replay.replayed_ns, static_cast<double>(loop.wall.mean), 1) << seed;
    // The replay spends the time on what attribution says. What a wait was for is told by the last
    // piece only, which may be launch or compute.
    const auto replayed = [&](Category category) {
      return loop.predictor->baseline().exposed[static_cast<std::size_t>(category)] /
             loop.replay.replayed_ns;
    };
    for (const Category category : {Category::kInput, Category::kHost, Category::kOther})
      EXPECT_NEAR(replayed(category), share_of(loop.shares, category), 1e-3) << seed;
    EXPECT_NEAR(replayed(Category::kCompute) + replayed(Category::kLaunch) +
                    replayed(Category::kCommunication),
                share_of(loop.shares, Category::kCompute) +
                    share_of(loop.shares, Category::kLaunch) +
                    share_of(loop.shares, Category::kCommunication),
                1e-3)
        << seed;
  }
}

TEST(Predictor, AScopeThatIsGoneSavesItsTime) {
  RecordingBuilder builder = random_training(1, 100);
  const LoopReport loop = report_of(builder);
  const double saved = loop.replay.replayed_ns - loop.predictor->step_ns([&](StepGraph& graph) {
    for (Task& task : graph.tasks) {
      if (task.label == builder.intern("logging")) task.dur_ns = 0;
    }
  });
  EXPECT_NEAR(saved, share_of(loop.shares, Category::kOther) * loop.replay.replayed_ns, 1);
  EXPECT_GT(saved, 50);
}

TEST(Predictor, WithholdsWhatItCannotExplain) {
  StepSample sample;
  for (std::size_t i = 0; i < 10; ++i) {
    SampledStep step{i, {}, {}};
    step.tasks.resize(1);
    step.tasks[0].dur_ns = 970;  // of 1,000
    sample.steps.push_back(step);
  }
  std::vector<std::size_t> all(10);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const Predictor unlike(sample, {std::vector<double>(10, 1000), {}}, all);
  EXPECT_EQ(withheld_text({.replayed_ns = unlike.replayed_ns(),
                           .measured_ns = unlike.measured_ns(),
                           .withheld = unlike.withheld()}),
            "the recorded dependencies explain a step of 970 ns, not the measured 1.00 µs");
  EXPECT_EQ(Predictor(sample, {std::vector<double>(10, 980), {}}, all).withheld(),
            Withheld::kNothing);
}

// A run in which every 50th step takes ten times as long, sampled with more of them than there are.
TEST(Predictor, StepsOfEachKindStandForTheirKind) {
  std::vector<double> times;
  std::vector<std::size_t> all;
  StepSample sample;
  for (std::size_t i = 0; i < 1000; ++i) {
    all.push_back(i);
    times.push_back(i % 50 == 0 ? 10'000 : 1'000);
    if (i >= 60 && i % 50 != 0) continue;
    SampledStep step{i, {}, {}};
    step.tasks.resize(1);
    step.tasks[0].dur_ns = static_cast<std::int64_t>(times[i]);
    sample.steps.push_back(step);
  }
  const Predictor predictor(std::move(sample), {times, {}}, all);
  EXPECT_NEAR(predictor.replayed_ns(), 1180, 1e-6);
  EXPECT_NEAR(predictor.step_ns([](StepGraph& graph) {
    for (Task& task : graph.tasks) task.dur_ns = std::min<std::int64_t>(task.dur_ns, 1000);
  }),
              1000, 1e-6);
}

// A run whose steps are known by their input and the rest, in µs.
class KnownRun {
 public:
  void add_step(std::int64_t input, std::int64_t rest) {
    all_.push_back(inputs_.size());
    inputs_.push_back(input * 1000);
    rests_.push_back(rest * 1000);
  }
  void add_steps(int count, std::int64_t input, std::int64_t rest) {
    for (int i = 0; i < count; ++i) add_step(input, rest);
  }

  // A predictor that can replay only these steps.
  [[nodiscard]] Predictor sampled(const std::function<bool(std::size_t)>& takes) const {
    StepSample sample;
    StepTimes times;
    for (const std::size_t i : all_) {
      times.step_ns.push_back(static_cast<double>(inputs_[i] + rests_[i]));
      times.input_ns.push_back(static_cast<double>(inputs_[i]));
      if (!takes(i)) continue;
      SampledStep step{i, {}, std::vector<Task>(2)};
      step.tasks[0].dur_ns = inputs_[i];
      step.tasks[0].category = Category::kInput;
      step.tasks[1].dur_ns = rests_[i];
      sample.steps.push_back(step);
    }
    return {std::move(sample), times, all_};
  }

 private:
  std::vector<std::int64_t> inputs_, rests_;
  std::vector<std::size_t> all_;
};

double input_ns(const Prediction& prediction) {
  return prediction.exposed[static_cast<std::size_t>(Category::kInput)];
}

Prediction with_workers(const Predictor& predictor, int workers) {
  return predictor.predict([workers](StepGraph& graph) { input_on_workers(graph, workers); });
}

// The wait stays as it is while the rest of a step grows, and only early steps can be replayed.
TEST(Predictor, WithholdsWhatRestsOnStepsUnlikeTheOthers) {
  KnownRun run;
  for (int i = 0; i < 60; ++i) run.add_step(11'000, 10'000 + i * 1'500);
  const auto withheld = [&](const std::function<bool(std::size_t)>& takes) {
    return run.sampled(takes).withheld();
  };
  EXPECT_EQ(withheld([](std::size_t i) { return i < 4; }), Withheld::kUnrepresentative);
  EXPECT_EQ(withheld([](std::size_t i) { return i % 10 == 4; }), Withheld::kNothing);
}

TEST(Predictor, WithholdsWhatRestsOnOtherInput) {
  KnownRun run;
  run.add_steps(10, 15'000, 5'000);
  run.add_steps(90, 5'000, 15'000);
  EXPECT_EQ(run.sampled([](std::size_t i) { return i < 10; }).withheld(),
            Withheld::kUnrepresentative);
}

TEST(Predictor, NoChangeOfTheInputSavesMoreThanTheRunWaits) {
  KnownRun run;
  for (int i = 0; i < 100; ++i) run.add_step(i < 10 ? 5'000 : 4'000, i < 10 ? 10'000 : 12'000);
  const Predictor predictor = run.sampled([](std::size_t i) { return i < 10; });
  ASSERT_EQ(predictor.withheld(), Withheld::kNothing);
  EXPECT_NEAR(input_ns(predictor.baseline()), 4.1e6, 1);
  EXPECT_NEAR(with_workers(predictor, 8).step_ns, 11.8e6, 1);
}

// Without the input of each step, the sample may have more of it than the run.
TEST(WhatIf, NoChangeOfTheInputSavesMoreThanTheReportShows) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  StepSample sample;
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t at = i * 16'000;
    builder.phase(main, PhaseKind::kInput, at, at + 4'000, 0, "train");
    SampledStep step{static_cast<std::size_t>(i), {}, std::vector<Task>(2)};
    step.tasks[0].dur_ns = 12'000;
    step.tasks[0].category = Category::kInput;
    step.tasks[1].dur_ns = 4'000;
    sample.steps.push_back(step);
  }
  const RecordedRun& recording = builder.recording();
  LoopReport loop = report_of(builder);
  const double rest = (1 - share_of(loop.shares, Category::kInput)) * loop.replay.measured_ns;
  loop.predictor = std::make_shared<const Predictor>(
      sample, StepTimes{std::vector<double>(loop.steps.size(), 16'000), {}}, loop.analysed);
  WhatIfQuestion question;
  question.input = {"workers=8"};
  const auto answer = answer_what_if(recording, std::move(loop), question);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NEAR(answer->predicted.step_ns, rest, 1);
}

// One item of 500 takes 3 s: 6 ms a step, which no number of workers hides.
TEST(Predictor, AStallThatIsNotInTheSampleStays) {
  for (const bool sampled : {false, true}) {
    KnownRun run;
    for (int i = 0; i < 500; ++i)
      run.add_step(i == 190 ? 3'000'000 : i % 7 == 0 ? 13'000 : 10'000, 500);
    const Predictor predictor =
        run.sampled([sampled](std::size_t i) { return i == 190 ? sampled : (i / 8) % 2 == 0; });
    ASSERT_EQ(predictor.withheld(), Withheld::kNothing);
    EXPECT_EQ(predictor.steps(), sampled ? 253U : 252U);
    EXPECT_NEAR(predictor.replayed_ns(), predictor.measured_ns(), 1);
    const Prediction predicted = with_workers(predictor, 16);
    EXPECT_GT(predicted.step_ns, 6e6);
    EXPECT_LT(predicted.step_ns, 7e6);
    EXPECT_LT(predicted.ci95.low, 6e6);
    EXPECT_GT(predicted.ci95.high, 10e6);
  }
}

// The same from a recording: of 1,200 steps, the sampler chooses about 300.
TEST(Predictor, TheReplayedInputIsThatOfTheReport) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  std::int64_t at = 0;
  for (int i = 0; i < 1200; ++i) {
    const std::int64_t input = i == 190 ? 300'000'000 : i % 7 == 0 ? 130'000 : 100'000;
    builder.phase(main, PhaseKind::kInput, at, at + input, 0, "train");
    builder.op(main, "aten::linear", at + input + 1'000, at + input + 20'000);
    at += input + 21'000;
  }
  const LoopReport loop = report_of(builder);
  ASSERT_EQ(loop.replay.withheld, Withheld::kNothing);
  ASSERT_LT(loop.replay.steps, 600);
  EXPECT_NEAR(input_ns(loop.predictor->baseline()),
              share_of(loop.shares, Category::kInput) * loop.replay.measured_ns, 10);
  const double stall_ns = 300e6 / static_cast<double>(loop.analysed.size());
  EXPECT_GT(with_workers(*loop.predictor, 16).step_ns, stall_ns);
  EXPECT_LT(with_workers(*loop.predictor, 16).step_ns, stall_ns + 25'000);
}

// Nobody knows which ops ran in a stall without ops, so no op is blamed for it.
TEST(Predictor, AnUnknownStallIsNotTheOps) {
  KnownRun run;
  for (int i = 0; i < 500; ++i) run.add_step(1'000, i == 190 ? 1'000'000 : 9'000);
  const Predictor predictor = run.sampled([](std::size_t i) { return i < 100; });
  ASSERT_EQ(predictor.withheld(), Withheld::kNothing);
  EXPECT_NEAR(predictor.step_ns([](StepGraph& graph) {
    for (Task& task : graph.tasks)
      task.dur_ns = task.category == Category::kOther ? task.dur_ns : 0;
  }),
              991e6 / 500, 1e3);
}

// Steps of 1 ms: 100 µs of host work, an op of 100 µs that launches a kernel of 700 µs after its
// first 20 µs (10 µs of latency), a wait for it till 830 µs (1 µs of which is the call's own), 170
// µs more.
RecordingBuilder device_training(int steps) {
  RecordingBuilder builder;
  builder.facts.leaf_op_overhead = Duration(1000);
  const ThreadId main = builder.thread("main");
  const StreamId stream = builder.stream(7);
  for (int i = 0; i < steps; ++i) {
    const std::int64_t at = i * 1'000'000;
    builder.phase(main, PhaseKind::kOptimizer, at, at + 50'000);
    builder.op(main, "aten::conv2d", at + 100'000, at + 200'000);
    builder.call(main, "cudaLaunchKernel", at + 119'000, at + 125'000, i + 1);
    builder.kernel(stream, "conv", at + 129'000, at + 829'000, i + 1);
    builder.call(main, "cudaStreamSynchronize", at + 210'000, at + 830'000);
  }
  return builder;
}

TEST(DeviceTasks, AReplayGivesWhatWasMeasured) {
  RecordingBuilder builder = device_training(60);
  const LoopReport loop = report_of(builder);
  EXPECT_EQ(loop.replay.withheld, Withheld::kNothing);
  EXPECT_NEAR(loop.replay.replayed_ns, 1e6, 1);
  EXPECT_EQ(loop.predictor->graph().streams.size(), 1u);
}

TEST(DeviceTasks, AFasterOpShortensItsKernelsAndTheWaitForThem) {
  RecordingBuilder builder = device_training(60);
  const LoopReport loop = report_of(builder);
  const StringId op = builder.intern("aten::conv2d");
  const auto with = [&](double factor) {
    return loop.predictor->step_ns([&](StepGraph& graph) {
      const auto ops =
          paths_inside(loop.predictor->paths(), [op](StringId name) { return name == op; });
      scale_ops(graph, ops, factor);
    });
  };
  EXPECT_NEAR(with(0.5), 650e3, 10) << "350 µs less to wait for";
  EXPECT_NEAR(with(0.05), 381e3, 10) << "the host's 100 + 100 + 10 µs, the call's own 1, 170 more";
}

// Launching then takes 381 µs a step, and the kernel 700: the device decides, with nothing to wait
// for.
TEST(DeviceTasks, WithoutTheWaitTheDeviceDecides) {
  RecordingBuilder builder = device_training(200);
  const LoopReport loop = report_of(builder);
  EXPECT_NEAR(loop.predictor->step_ns(remove_syncs), 700e3, 5e3);
}

TEST(DeviceTasks, PinnedCopiesDoNotKeepTheHost) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  const StreamId stream = builder.stream(7);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t at = i * 1'000'000;
    builder.phase(main, PhaseKind::kOptimizer, at, at + 50'000);
    builder.call(main, "cudaMemcpyAsync", at + 100'000, at + 500'000, i + 1);
    Copy copy;
    copy.stream = stream;
    copy.kind = CopyKind::kHostToDevice;
    copy.source = MemoryKind::kPageable;
    copy.start = session_time(at + 110'000);
    copy.dur = Duration(390'000);
    copy.correlation = i + 1;
    copy.bytes = 4 << 20;
    builder.copies.push_back(copy);
  }
  const LoopReport loop = report_of(builder);
  EXPECT_EQ(loop.replay.withheld, Withheld::kNothing);
  EXPECT_NEAR(loop.predictor->step_ns(pin_copies), 600e3, 1e3) << "400 µs of it were the call";
}

TEST(StepSampler, StaysSmallAndSpread) {
  std::vector<Span> spans(1);
  StepSampler sampler([](std::size_t step, bool) { return step >= 10; }, 1000);
  for (std::size_t step = 0; step < 5000; ++step) {
    const auto start = session_time(static_cast<std::int64_t>(step) * 100);
    const TimeRange range{start, start + Duration(100)};
    if (sampler.paths_for(step, true) == nullptr) continue;
    // Ten ops with gaps between them: twenty pieces.
    std::vector<OpRun> runs;
    for (int i = 0; i < 10; ++i) {
      OpRun run;
      run.range = {start + Duration(i * 10), start + Duration(i * 10 + 5)};
      run.op = StringId{1};
      run.category = Category::kCompute;
      runs.push_back(run);
    }
    spans[0].range = range;
    sampler.on_frame(step, {range, spans, true, runs, {}, {}});
  }
  const StepSample sample = sampler.finish();
  EXPECT_FALSE(sample.too_large);
  ASSERT_GT(sample.steps.size(), 1000 / 20 / 3);
  ASSERT_LE(sample.steps.size(), 1000 / 20 + 1);
  EXPECT_EQ(sample.steps[0].index, 10u);
  EXPECT_EQ(sample.steps[1].index, 11u) << "neighbours are taken together";
  EXPECT_GT(sample.steps.back().index, 3000u);
  for (const SampledStep& step : sample.steps) EXPECT_EQ(step.tasks.size(), 20u);
}

// Steps of 40 pieces each.
StepSample sample_large_steps(std::size_t most_tasks, std::size_t steps = 4) {
  StepSampler sampler([](std::size_t, bool) { return true; }, most_tasks);
  std::vector<Span> spans(1);
  std::vector<OpRun> runs(20);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto start = session_time(static_cast<std::int64_t>(step) * 1000);
    spans[0].range = {start, start + Duration(1000)};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].range = {start + Duration(static_cast<int>(i) * 10),
                       start + Duration(static_cast<int>(i) * 10 + 5)};
      runs[i].op = StringId{1};
      runs[i].category = Category::kCompute;
    }
    if (sampler.paths_for(step, true) != nullptr)
      sampler.on_frame(step, {spans[0].range, spans, true, runs, {}, {}});
  }
  return sampler.finish();
}

TEST(StepSampler, AStepThatIsTooLargeIsSaidToBe) {
  const StepSample sample = sample_large_steps(5);
  EXPECT_TRUE(sample.too_large);
  EXPECT_TRUE(sample.steps.empty());
}

TEST(StepSampler, AFewLargeStepsAreBetterThanNone) {
  const StepSample sample = sample_large_steps(40);
  EXPECT_FALSE(sample.too_large);
  EXPECT_EQ(sample.steps.size(), 4u);
}

TEST(StepSampler, AFewLargeStepsAreSpreadOverTheRun) {
  const StepSample sample = sample_large_steps(40, 60);
  ASSERT_GE(sample.steps.size(), 2u);
  EXPECT_LE(sample.steps.size(), 4u);
  EXPECT_GE(sample.steps.back().index, 30u);
}

}  // namespace
}  // namespace stepscope::testing

// Each rule of advice: that it speaks where it should, with the step time that is right by the
// making of the run, and is silent elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/advise/loader_words.h"
#include "present/advice/rules.h"
#include "store/counters.h"
#include "tests/analyzer/advice_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

TEST(Advice, AHealthyRunGetsNone) {
  EXPECT_TRUE(advice_of(record({.input = kMs / 5})).empty());
  EXPECT_TRUE(advice_of(record({.input = kMs / 5, .busy = 0})).empty());
}

TEST(Advice, PrefetchTakesTheLongerOfTheTwoNotTheirSum) {
  const auto advice = advice_of(record({.input = 3 * kMs, .rest = 5 * kMs}));
  const Advice* prefetch = find(advice, "input-prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->predicted_step_ns, 5 * kMs);
  EXPECT_EQ(prefetch->saves_ns, 3 * kMs);
  EXPECT_EQ(prefetch->title, "prefetch batches with 1 worker");
}

TEST(Advice, PrefetchNamesTheLeastWorkersThatHideTheWait) {
  const auto advice = advice_of(record({.input = 9 * kMs, .rest = 2 * kMs, .cores = 16}));
  const Advice* prefetch = find(advice, "input-prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->title, "prefetch batches with 5 workers");
  EXPECT_NEAR(static_cast<double>(prefetch->predicted_step_ns), 2e6, 2e4);
  EXPECT_THAT(prefetch->why, HasSubstr("9.00 ms with 1, 4.5"));
}

TEST(Advice, PrefetchOfAPyTorchLoaderCanBePasted) {
  const std::string paste = ": DataLoader(…, num_workers=1, persistent_workers=True)";
  const Loop loop{.input = 3 * kMs, .rest = 5 * kMs, .loader = "DataLoader(batch_size=8)"};
  const auto advice = advice_of(record(loop));
  ASSERT_NE(find(advice, "input-prefetch"), nullptr);
  EXPECT_THAT(find(advice, "input-prefetch")->why, HasSubstr(paste));
  Loop with_workers = loop;
  with_workers.loader = "DataLoader(batch_size=8, num_workers=2)";
  EXPECT_EQ(find(advice_of(record(with_workers)), "input-prefetch"), nullptr) << "it has some";
}

// 0.8 ms of the loop's thread and 1.2 ms of the worker (kFromProcess).
TEST(Advice, PrefetchFromProcessesCountsHandingOverTheBatches) {
  Loop loop{.input = 3 * kMs, .rest = 5 * kMs, .cores = 8, .loader = "DataLoader(batch_size=8)"};
  EXPECT_NEAR(predicted_ms(loop, "input-prefetch"), 5.8, 0.01);
  EXPECT_NEAR(asked_ms(loop, {.input = {"workers=1"}}), 5.8, 0.01);
  loop.cores = 2;
  loop.input = 8 * kMs;
  EXPECT_NEAR(predicted_ms(loop, "input-prefetch"), (8 + 5 + 2.0) / 2, 0.01);
  EXPECT_NEAR(asked_ms(loop, {.input = {"workers=2"}}), (8 + 5 + 2.0) / 2, 0.01);
  loop = {.input = kMs / 2, .rest = kMs, .cores = 8, .loader = "DataLoader(batch_size=8)"};
  EXPECT_EQ(predicted_ms(loop, "input-prefetch"), 0) << "it costs more than it hides";
  EXPECT_NEAR(asked_ms(loop, {.input = {"workers=1"}}), 1.8, 0.01);
  loop.loader = "my own loader";
  EXPECT_NEAR(predicted_ms(loop, "input-prefetch"), 1, 0.01) << "it may use threads";
  loop.loader = "DataLoader(batch_size=8, num_workers=2)";
  EXPECT_NEAR(asked_ms(loop, {.input = {"workers=1"}}), 1, 0.01) << "it is in what was measured";
}

// Hugging Face's Trainer makes its loader and its optimizer from its own arguments.
TEST(Advice, OfTheTrainerItsArgumentsCanBePasted) {
  const char* const loader = "Trainer: DataLoader(batch_size=8)";
  const auto advice = advice_of(record({.input = 3 * kMs, .rest = 5 * kMs, .loader = loader}));
  ASSERT_NE(find(advice, "input-prefetch"), nullptr);
  EXPECT_THAT(find(advice, "input-prefetch")->why,
              HasSubstr(": TrainingArguments(…, dataloader_num_workers=1, "
                        "dataloader_persistent_workers=True)"));
  LoopReport loop;
  loop.input.loader = loader;
  EXPECT_THAT(words_of(FusedOptimizer{"AdamW"}, AdviceFacts{}, loop).why,
              HasSubstr(R"(: TrainingArguments(…, optim="adamw_torch_fused"))"));
  loop.input.loader = "DataLoader(batch_size=8)";
  EXPECT_THAT(words_of(FusedOptimizer{"AdamW"}, AdviceFacts{}, loop).why,
              HasSubstr(": AdamW(…, fused=True)"));
}

TEST(Advice, NamesALineThatStandsForItselfByItsPlace) {
  const LoopReport loop;
  FasterLine line{.place = "/src/my data.py:41", .function = "read", .inside = "", .blocked = ""};
  EXPECT_EQ(words_of(line, AdviceFacts{}, loop).title, "make read twice as fast");
  line.function = "";
  EXPECT_EQ(words_of(line, AdviceFacts{}, loop).title, "make my data.py:41 twice as fast");
}

// Epochs of 20 steps that wait for 1 ms, their first for 200.
Loop epochs(const std::string& loader) {
  Loop loop{.steps = 99, .input = kMs, .busy = 0, .loader = loader};
  loop.more = [loader](RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
    if (step % 20 != 19) return at;
    builder.phase(main, PhaseKind::kInputEnd, at, at + 1000, 0, loader);
    at += 1000;
    builder.phase(main, PhaseKind::kInput, at, at + 200 * kMs, 0, loader);
    builder.op(main, "aten::linear", at + 200 * kMs, at + 210 * kMs);
    builder.phase(main, PhaseKind::kBackward, at + 210 * kMs - 1000, at + 210 * kMs);
    return at + 210 * kMs;
  };
  return loop;
}

TEST(Advice, WorkersThatStartAnewInEachEpochAreKept) {
  const auto advice = advice_of(record(epochs("DataLoader(batch_size=8, num_workers=2)")));
  const Advice* keep = find(advice, "persistent-workers");
  ASSERT_NE(keep, nullptr);
  EXPECT_NEAR(static_cast<double>(keep->saves_ns), 4 * 198e6 / 102, 0.02e6);
  EXPECT_THAT(keep->why, HasSubstr("its first batch takes 200 ms, 2 others together 2.00 ms; "
                                   "DataLoader(…, persistent_workers=True)"));
  EXPECT_EQ(find(advice, "periodic-stall"), nullptr) << "the same, without a remedy";
  for (const char* loader : {"DataLoader(batch_size=8, num_workers=2, persistent_workers=True)",
                             "DataLoader(batch_size=8)", "a loader of my own"})
    EXPECT_EQ(find(advice_of(record(epochs(loader))), "persistent-workers"), nullptr) << loader;
}

// Five workers deliver together, so one step in five waits: at the start of an epoch as at any
// time.
TEST(Advice, AFirstBatchThatTakesAsLongAsAnyDeliveryIsNoReasonToKeepWorkers) {
  const std::string loader = "DataLoader(num_workers=5)";
  Loop loop{.steps = 100, .input = 0, .busy = 0, .loader = loader};
  loop.more = [loader](RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
    if (step % 4 != 3) return at;
    if (step % 20 == 19) builder.phase(main, PhaseKind::kInputEnd, at, at + 1000, 0, loader);
    at += 1000;
    builder.phase(main, PhaseKind::kInput, at, at + 80 * kMs, 0, loader);
    builder.op(main, "aten::linear", at + 80 * kMs, at + 90 * kMs);
    builder.phase(main, PhaseKind::kBackward, at + 90 * kMs - 1000, at + 90 * kMs);
    return at + 90 * kMs;
  };
  EXPECT_EQ(find(advice_of(record(loop)), "persistent-workers"), nullptr);
}

TEST(Advice, WorkersThatCannotKeepUpGetHelp) {
  Loop loop{.input = 9 * kMs, .busy = 0, .rest = kMs, .loader = "DataLoader(num_workers=2)"};
  const auto advice = advice_of(record(loop));
  const Advice* more = find(advice, "more-workers");
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->title, "use 16 workers") << "each takes 20 ms for a batch";
  EXPECT_NEAR(static_cast<double>(more->predicted_step_ns), 20e6 / 16, 1e4);
  loop.rest = 6 * kMs;
  EXPECT_NEAR(predicted_ms(loop, "more-workers"), 6, 0.01) << "not below the rest of the step";
  const auto few = advice_of(record(loop));
  EXPECT_EQ(find(few, "more-workers")->title, "use 5 workers");
  loop.busy = 1;
  EXPECT_EQ(predicted_ms(loop, "more-workers"), 0) << "the loop's thread does the work";
  loop.busy = 0;
  loop.loader = "DataLoader()";
  EXPECT_EQ(predicted_ms(loop, "more-workers"), 0);
  EXPECT_EQ(predicted_ms(epochs("DataLoader(num_workers=2)"), "more-workers"), 0)
      << "they keep up but for the first batch of an epoch";
}

// Four workers that start together deliver four batches at once, and then none for a while.
TEST(Advice, WorkersThatDeliverTogetherAndCannotKeepUpGetHelp) {
  const std::string loader = "DataLoader(num_workers=4)";
  Loop bursts{.steps = 120, .input = 0, .busy = 0, .loader = loader};
  bursts.more = [loader](RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
    if (step % 4 != 3) return at;
    builder.phase(main, PhaseKind::kInput, at, at + 80 * kMs, 0, loader);
    return at + 80 * kMs;
  };
  const auto advice = advice_of(record(bursts));
  const Advice* more = find(advice, "more-workers");
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->title, "use 12 workers") << "each takes 120 ms for a batch";
  EXPECT_NEAR(static_cast<double>(more->predicted_step_ns), 10e6, 1e5);
}

TEST(LoaderOption, IsReadFromTheName) {
  const char* const name = "DataLoader(batch_size=8, shuffle=True, num_workers=12)";
  EXPECT_EQ(loader_option(name, "batch_size"), "8");
  EXPECT_EQ(loader_option(name, "num_workers"), "12");
  EXPECT_FALSE(loader_option(name, "workers"));
  EXPECT_FALSE(loader_option("DataLoader", "num_workers"));
  EXPECT_FALSE(loader_option("DataLoader(num_workers=1", "num_workers"));
  EXPECT_FALSE(loader_option("DataLoader()", ""));
  EXPECT_EQ(loader_option("Trainer: DataLoader(batch_size=8)", "batch_size"), "8");
  EXPECT_FALSE(is_data_loader("Trainer: my own loader"));
}

TEST(Advice, PrefetchMindsTheCores) {
  // 10 ms of work a step on 2 cores.
  EXPECT_NEAR(predicted_ms({.input = 9 * kMs, .rest = kMs, .cores = 2}, "input-prefetch"), 5, 0.05);
  EXPECT_EQ(predicted_ms({.input = 9 * kMs, .rest = kMs, .cores = 1}, "input-prefetch"), 0)
      << "one core has nothing to gain";
  // An imported trace does not know the cores.
  EXPECT_NEAR(predicted_ms({.input = 9 * kMs, .rest = kMs, .cores = 0}, "input-prefetch"), 1, 0.05);
  EXPECT_GT(predicted_ms({.input = 9 * kMs, .busy = 0, .rest = kMs, .cores = 1}, "input-prefetch"),
            0)
      << "a blocked wait needs no core";
}

TEST(Advice, PrefetchBelievesTheSampledUseOfTheCores) {
  RecordingBuilder builder = record({.input = 5 * kMs, .rest = 5 * kMs, .cores = 2});
  // The training keeps both cores busy all the time: nothing is left for a worker.
  for (std::int64_t at = 0; at <= 1000; at += 50)
    builder.samples.push_back({builder.process(1), builder.intern(counter::kCpuUser),
                               session_time(at * kMs), 2 * at * kMs});
  EXPECT_EQ(find(advice_of(std::move(builder)), "input-prefetch"), nullptr);
}

// Ops of another thread, `every` so many steps.
RecordingBuilder with_other_thread(int every, OpScope scope, std::int64_t process = 1) {
  RecordingBuilder builder = record({.input = 4 * kMs, .busy = 0, .rest = 6 * kMs});
  const ThreadId other = builder.thread("other", process);
  for (int step = 0; step < 100; step += every) {
    const std::int64_t at = step * 10 * kMs + kMs;
    builder.op(other, "aten::div", at, at + kMs, scope);
  }
  return builder;
}

TEST(Advice, AThreadThatWorksBesideTheLoopFetchesAheadAlready) {
  const auto advised = [](RecordingBuilder builder) {
    return find(advice_of(std::move(builder)), "input-prefetch") != nullptr;
  };
  EXPECT_FALSE(advised(with_other_thread(1, OpScope::kFunction)));
  EXPECT_TRUE(advised(with_other_thread(10, OpScope::kFunction))) << "too seldom for batches";
  EXPECT_TRUE(advised(with_other_thread(1, OpScope::kBackwardFunction))) << "autograd's";
  RecordingBuilder engine = with_other_thread(1, OpScope::kFunction);
  const Op around = engine.ops().back();  // as the engine's own range is around a node
  engine.op(around.thread, "AddmmBackward0", to_ns(around.start) + 10, to_ns(around.start) + 20,
            OpScope::kBackwardFunction);
  EXPECT_TRUE(advised(std::move(engine)));
  EXPECT_TRUE(advised(with_other_thread(1, OpScope::kFunction, 2))) << "another process";
  RecordingBuilder with_a_loop = with_other_thread(1, OpScope::kFunction);
  const ThreadId other = with_a_loop.ops().back().thread;
  with_a_loop.phase(other, PhaseKind::kOptimizer, 0, 10);
  EXPECT_TRUE(advised(std::move(with_a_loop))) << "it trains by itself";
}

TEST(Advice, CacheLeavesWhatPutsTheBatchTogether) {
  EXPECT_NEAR(predicted_ms({.input = 4 * kMs, .busy = 0.75, .rest = 6 * kMs}, "input-cache"), 7,
              1e-6)
      << "the busy part goes";
  EXPECT_NEAR(
      predicted_ms({.input = 4 * kMs, .rest = 6 * kMs, .op_in_wait = "aten::stack"}, "input-cache"),
      7, 1e-6)
      << "the quarter with aten::stack stays";
  EXPECT_EQ(predicted_ms({.input = 4 * kMs, .busy = 0.3, .rest = 6 * kMs}, "input-cache"), 0)
      << "mostly blocked";
  EXPECT_EQ(predicted_ms({.input = 4 * kMs, .loader = "DataLoader(num_workers=2)"}, "input-cache"),
            0)
      << "the thread takes over what workers have made";
}

// A cache of the prepared samples would take away the random crops and flips.
TEST(Advice, OfSamplesWithARandomPartOnlyTheRestIsCached) {
  const auto advice =
      advice_of(record({.input = 4 * kMs, .rest = 6 * kMs, .op_in_wait = "aten::uniform_"}));
  const Advice* cache = find(advice, "input-cache");
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->title, "cache the decoded samples");
  EXPECT_EQ(cache->saves_ns, 0) << "who knows how much of the wait that is";
}

// 2,000 ops of 2 µs, of which 1 µs is the framework's.
std::int64_t tiny_ops(RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  for (int i = 0; i < 2000; ++i, at += 2000) builder.op(main, "aten::add", at, at + 2000);
  return at;
}

TEST(Advice, TinyOpsCostTheirLaunches) {
  const Loop loop{.steps = 20, .rest = 4 * kMs, .more = tiny_ops};
  EXPECT_NEAR(predicted_ms(loop, "fewer-tiny-ops"), 6, 0.01);
  EXPECT_EQ(predicted_ms({.steps = 20, .rest = 40 * kMs, .more = tiny_ops}, "fewer-tiny-ops"), 0)
      << "5 % of the step is no launch-bound run";
}

// 200 ops of 5 µs with 3 µs of the program's own code between them, behind one called `first`.
std::int64_t optimize(RecordingBuilder& builder, ThreadId main, const char* first, std::int64_t at,
                      const std::string& optimizer = "") {
  const std::int64_t begin = at;
  if (first != nullptr) {
    builder.op(main, first, at, at + 5000);
    at += 5000;
  }
  for (int i = 0; i < 200; ++i, at += 8000) builder.op(main, "aten::addcdiv_", at, at + 5000);
  builder.phase(main, PhaseKind::kOptimizer, begin, at, 0, optimizer);
  return at;
}

std::int64_t slow_optimizer(RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  return optimize(builder, main, nullptr, at);
}

TEST(Advice, AnOptimizerOfManyOpsCanBeFused) {
  const Loop loop{.steps = 20, .rest = 4 * kMs, .more = slow_optimizer};
  EXPECT_NEAR(predicted_ms(loop, "fused-optimizer"), 4.8, 0.01);
  EXPECT_EQ(
      predicted_ms({.steps = 20, .rest = 400 * kMs, .more = slow_optimizer}, "fused-optimizer"), 0);
}

// As Adam does it for each of ten parameters: an op a line of its formula, 4 µs a tensor that it
// touches; the square root makes a new one, and so takes as long again.
std::int64_t adam(RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  const std::int64_t begin = at;
  const std::pair<const char*, std::int64_t> ops[] = {
      {"aten::lerp_", 12}, {"aten::mul_", 8}, {"aten::addcmul_", 12},
      {"aten::sqrt", 16},  {"aten::div", 8},  {"aten::addcdiv_", 16}};
  for (int i = 0; i < 10; ++i) {
    for (const auto& [name, us] : ops) {
      builder.op(main, name, at, at + us * 1000);
      at += us * 1000;
    }
  }
  builder.phase(main, PhaseKind::kOptimizer, begin, at);
  return at;
}

TEST(Advice, AFusedOptimizerReadsItsTensorsOnce) {
  const Loop loop{.steps = 20, .rest = 1 * kMs, .more = adam};
  // 60 ops of which 1 µs each is the framework's; 7 tensors instead of 16 (4 of them for the root).
  const double arithmetic_us = 720 - 60, ns_a_tensor = 4 * arithmetic_us / 720;
  EXPECT_NEAR(predicted_ms(loop, "fused-optimizer"), 1 + 10 * 7 * ns_a_tensor / 1000, 0.01);
}

std::int64_t fused_adam(RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  return optimize(builder, main, "aten::_fused_adam_", at);
}

TEST(Advice, AFusedOptimizerNeedsNoFusing) {
  const Loop loop{.steps = 20, .rest = 4 * kMs, .more = fused_adam};
  EXPECT_EQ(predicted_ms(loop, "fused-optimizer"), 0);
}

std::int64_t lbfgs(RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  const std::int64_t end = optimize(builder, main, nullptr, at);
  builder.op(main, "Optimizer.step#LBFGS.step", at, end, OpScope::kUser);
  return end;
}

TEST(Advice, AnOptimizerThatHasNoFusedFormIsNotToBeFused) {
  EXPECT_EQ(predicted_ms({.steps = 20, .rest = 4 * kMs, .more = lbfgs}, "fused-optimizer"), 0);
  const auto step_of = [](const std::string& optimizer) {
    Loop loop{.steps = 20, .rest = 4 * kMs};
    loop.more = [optimizer](RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
      return optimize(builder, main, nullptr, at, optimizer);
    };
    return predicted_ms(loop, "fused-optimizer");
  };
  EXPECT_EQ(step_of("RMSprop"), 0);
  EXPECT_EQ(step_of("Lion"), 0);
  EXPECT_GT(step_of("AdamW"), 0);
  EXPECT_GT(step_of("GradScaler"), 0) << "which steps another one";
}

// A dropout of 1 ms: in training mode it draws what is dropped, else it returns its input.
std::int64_t dropout(RecordingBuilder& builder, ThreadId main, bool draws, std::int64_t at) {
  if (draws) builder.op(main, "aten::bernoulli_", at + 200'000, at + 800'000);
  builder.op(main, "aten::dropout", at, at + kMs);
  return at + kMs;
}
const auto training_dropout = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  return dropout(builder, main, true, at);
};
const auto evaluation_dropout = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
  return dropout(builder, main, false, at);
};

TEST(Advice, ADropoutThatDropsInInferenceIsAMistake) {
  Loop loop{.steps = 20, .input = kMs / 10, .rest = 9 * kMs, .trains = false};
  loop.more = training_dropout;
  EXPECT_NEAR(predicted_ms(loop, "evaluation-mode"), 9.1, 0.01);
  loop.rest = 900 * kMs;
  EXPECT_NE(predicted_ms(loop, "evaluation-mode"), 0) << "however little it saves";
}

TEST(Advice, ADropoutThatTrainsOrDropsNothingIsNone) {
  Loop loop{.steps = 20, .input = kMs / 10, .rest = 9 * kMs, .more = training_dropout};
  EXPECT_EQ(predicted_ms(loop, "evaluation-mode"), 0) << "it trains";
  loop.trains = false;
  loop.more = evaluation_dropout;
  EXPECT_EQ(predicted_ms(loop, "evaluation-mode"), 0);
}

std::int64_t logging(RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
  at += step % 7 * 1000;
  if (step % 20 != 10) return at;
  builder.phase(main, PhaseKind::kScope, at, at + 40 * kMs, 0, "logging");
  return at + 40 * kMs;
}

TEST(Advice, APeriodicStallCanBeMoved) {
  const Loop loop{.steps = 201, .more = logging};
  const auto advice = advice_of(record(loop));
  const Advice* stall = find(advice, "periodic-stall");
  ASSERT_NE(stall, nullptr);
  EXPECT_NEAR(static_cast<double>(stall->predicted_step_ns), 10e6, 0.02e6);
  EXPECT_THAT(stall->why, HasSubstr("logging"));
  EXPECT_EQ(predicted_ms({.steps = 201}, "periodic-stall"), 0);
}

// What a step of 10 ms does to memory.
struct Paging {
  std::int64_t faults = 2'000;  // of 4 KiB: 8.2 MB
  std::int64_t system_ns = 2 * kMs;
  std::int64_t tensor_bytes = 20'000'000;
  std::int64_t growth_bytes = 0;
  std::int64_t threads = 1;  // that compute
  bool workers = false;      // processes that it started
  bool device = false;       // that computes
};

std::int64_t launch_kernel(RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
  builder.call(main, "cudaLaunchKernel", at - kMs, at - kMs + 5'000, step + 1);
  builder.kernel(builder.stream(7), "gemm", at - kMs / 2, at - kMs / 4, step + 1);
  return at;
}

RecordingBuilder paging(const Paging& a_step, bool trains = true) {
  RecordingBuilder builder = record({.input = kMs / 10,
                                     .rest = 99 * kMs / 10,
                                     .trains = trains,
                                     .more = a_step.device ? launch_kernel : nullptr});
  if (a_step.workers) builder.process(2, -1, 1);
  const auto add = [&](const char* name, std::int64_t step, std::int64_t value) {
    builder.samples.push_back(
        {builder.process(1), builder.intern(name), session_time(step * 10 * kMs), step * value});
  };
  for (std::int64_t step = 0; step <= 100; step += 10) {
    add(counter::kMinorFaults, step, a_step.faults);
    add(counter::kCpuSystem, step, a_step.system_ns);
    add(counter::kCpuUser, step, a_step.threads * 10 * kMs - a_step.system_ns);
    add(counter::kTensorAllocatedBytes, step, a_step.tensor_bytes);
    add(counter::kRss, step, a_step.growth_bytes);
  }
  return builder;
}

double kept_memory_saves_ms(const Paging& a_step, bool trains = true) {
  const auto advice = advice_of(paging(a_step, trains));
  const Advice* found = find(advice, "keep-freed-memory");
  return found == nullptr ? 0 : static_cast<double>(found->saves_ns) / kMs;
}

TEST(Advice, MemoryThatIsGivenBackAndTakenAnewCostsTheKernelsTime) {
  const auto advice = advice_of(paging({}));
  const Advice* keep = find(advice, "keep-freed-memory");
  ASSERT_NE(keep, nullptr);
  EXPECT_NEAR(static_cast<double>(keep->saves_ns) / kMs, 2, 0.01);
  EXPECT_NEAR(keep->evidence.value, 2'000, 1);
  EXPECT_THAT(keep->why, HasSubstr("2,000 page faults a step, 2.00 ms of CPU time in the kernel"));
  EXPECT_NEAR(kept_memory_saves_ms({.system_ns = 4 * kMs, .threads = 2}), 2, 0.01)
      << "two threads fault side by side";
  EXPECT_NEAR(kept_memory_saves_ms({.faults = 500, .system_ns = 9 * kMs}), 2, 0.01)
      << "4 µs a fault at most; the rest of the kernel's time is something else";
}

TEST(Advice, MemoryThatIsKeptOrGrowsOrIsNotTensorsIsNone) {
  EXPECT_EQ(kept_memory_saves_ms({.faults = 40, .tensor_bytes = 1'000'000}), 0) << "hardly any";
  EXPECT_EQ(kept_memory_saves_ms({.growth_bytes = 8'000'000}), 0) << "it grows by what it touches";
  EXPECT_GT(kept_memory_saves_ms({.workers = true}), 0);
  EXPECT_EQ(kept_memory_saves_ms({.tensor_bytes = 40'000'000, .workers = true}), 0)
      << "the batches, in shared memory";
  EXPECT_EQ(kept_memory_saves_ms({.tensor_bytes = 0}), 0) << "not sampled";
  EXPECT_EQ(kept_memory_saves_ms({.device = true}), 0) << "pinned buffers, and the driver's own";
  EXPECT_EQ(find(advice_of(record({})), "keep-freed-memory"), nullptr);
  EXPECT_NEAR(kept_memory_saves_ms({}, false), 2, 0.01) << "calls as well as steps";
}

TEST(Advice, TheLargestSavingComesFirst) {
  const auto advice = advice_of(record({.input = 5 * kMs, .rest = kMs, .cores = 2}));
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_GE(advice[0].saves_ns, advice[1].saves_ns);
}

TEST(WhatIf, ChangesAreMadeTogether) {
  const Loop loop{.input = 6 * kMs, .rest = 8 * kMs};
  EXPECT_NEAR(asked_ms(loop, {.input = {"prefetched"}}), 8, 0.01);
  EXPECT_NEAR(asked_ms(loop, {.ops = {"aten::linear=2x"}}), 10.0005, 1e-6)
      << "1 µs of it is launch";
  EXPECT_NEAR(asked_ms(loop, {.ops = {"aten::linear=4x"}, .input = {"prefetched"}}), 6, 0.01)
      << "then the input decides";
  EXPECT_NEAR(asked_ms(loop, {.ops = {"aten::linear=4x"}, .input = {"workers=2"}}), 3, 0.02);
  EXPECT_NEAR(asked_ms(loop, {.input = {"cached"}}), 8, 0.01);
}

TEST(WhatIf, AScopeCanBeAskedFor) {
  const Loop loop{.steps = 201, .more = logging};
  EXPECT_NEAR(asked_ms(loop, {.ops = {"logging=0"}}), 10, 0.02);
}

TEST(WhatIf, ErrorsSayWhatToWrite) {
  const auto message = [](const Loop& loop, const WhatIfQuestion& question) {
    const auto answer = ask(loop, question);
    return answer.ok() ? "" : answer.status().message();
  };
  const Loop loop{.input = 6 * kMs};
  EXPECT_THAT(message(loop, {.ops = {"aten::liner=2x"}}), HasSubstr("the nearest is aten::linear"));
  EXPECT_THAT(message(loop, {.ops = {"aten::linear"}}), HasSubstr("NAME=2x"));
  EXPECT_THAT(message(loop, {.ops = {"aten::linear=-2x"}}), HasSubstr("NAME=2x"));
  EXPECT_THAT(message(loop, {.input = {"faster"}}), HasSubstr("prefetched, cached or workers=4"));
  EXPECT_THAT(message(loop, {.input = {"workers=0"}}), HasSubstr("1 to 64"));
  EXPECT_THAT(message(loop, {.copies = "pinned"}), HasSubstr("no device was recorded"));
  EXPECT_THAT(message(loop, {}), HasSubstr("nothing to change"));
  RecordingBuilder nothing;
  EXPECT_EQ(what_if(nothing.recording(), {.input = {"cached"}}).status().kind(),
            ErrorKind::kBadInput);
}

TEST(WhatIf, AStoreWithoutOpsHasNoneToChange) {
  RecordingBuilder builder = record({.input = 6 * kMs});
  builder.ops().clear();
  const auto answer = what_if(builder.recording(), {.ops = {"aten::linear=2x"}});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.status().message(), HasSubstr("no ops were recorded"));
}

}  // namespace
}  // namespace stepscope::testing

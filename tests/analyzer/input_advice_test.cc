// The rules of advice about input, as in advice_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/advise/loader_words.h"
#include "present/advice/rules.h"
#include "store/counters.h"
#include "tests/analyzer/advice_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

TEST(InputAdvice, PrefetchTakesTheLongerOfTheTwoNotTheirSum) {
  const auto advice = advice_of(record({.input = 3 * kMs, .rest = 5 * kMs}));
  const Advice* prefetch = find(advice, "input-prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->predicted_step_ns, 5 * kMs);
  EXPECT_EQ(prefetch->saves_ns, 3 * kMs);
  EXPECT_EQ(prefetch->title, "prefetch batches with 1 worker");
}

TEST(InputAdvice, PrefetchNamesTheLeastWorkersThatHideTheWait) {
  const auto advice = advice_of(record({.input = 9 * kMs, .rest = 2 * kMs, .cores = 16}));
  const Advice* prefetch = find(advice, "input-prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->title, "prefetch batches with 5 workers");
  EXPECT_NEAR(static_cast<double>(prefetch->predicted_step_ns), 2e6, 2e4);
  EXPECT_THAT(prefetch->why, HasSubstr("9.00 ms with 1, 4.5"));
}

TEST(InputAdvice, PrefetchOfAPyTorchLoaderCanBePasted) {
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
TEST(InputAdvice, PrefetchFromProcessesCountsHandingOverTheBatches) {
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
TEST(InputAdvice, OfTheTrainerItsArgumentsCanBePasted) {
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

TEST(InputAdvice, WorkersThatStartAnewInEachEpochAreKept) {
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
TEST(InputAdvice, AFirstBatchThatTakesAsLongAsAnyDeliveryIsNoReasonToKeepWorkers) {
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

TEST(InputAdvice, WorkersThatCannotKeepUpGetHelp) {
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
TEST(InputAdvice, WorkersThatDeliverTogetherAndCannotKeepUpGetHelp) {
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

TEST(InputAdvice, PrefetchMindsTheCores) {
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

TEST(InputAdvice, PrefetchBelievesTheSampledUseOfTheCores) {
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

TEST(InputAdvice, AThreadThatWorksBesideTheLoopFetchesAheadAlready) {
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

TEST(InputAdvice, AThreadThatReadsTheLoaderFetchesAheadAlready) {
  // Beside a loop that waits for its batches: a thread with a wait for the loader `every` so many
  // steps, and `ops` after each.
  const auto advised = [](int every, int ops, PhaseKind also = PhaseKind::kNone) {
    RecordingBuilder builder = record({.input = 4 * kMs, .busy = 0, .rest = 6 * kMs});
    const ThreadId reader = builder.thread("reader");
    for (int step = 0; step < 100; step += every) {
      const std::int64_t at = step * 10 * kMs + kMs;
      builder.phase(reader, PhaseKind::kInput, at, at + kMs, 0, "DataLoader");
      for (int op = 1; op <= ops; ++op)
        builder.op(reader, "aten::div", at + op * kMs, at + op * kMs + 1000);
    }
    if (also != PhaseKind::kNone) builder.phase(reader, also, 999 * kMs, 1000 * kMs);
    return find(advice_of(std::move(builder)), "input-prefetch") != nullptr;
  };
  EXPECT_FALSE(advised(1, 0));
  EXPECT_FALSE(advised(1, 1)) << "such as pinning the memory of the batch";
  EXPECT_TRUE(advised(10, 0)) << "too seldom for batches";
  EXPECT_TRUE(advised(1, 8)) << "it runs a model";
  EXPECT_TRUE(advised(1, 0, PhaseKind::kForward)) << "it runs a model";
}

TEST(InputAdvice, CacheLeavesWhatPutsTheBatchTogether) {
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
TEST(InputAdvice, OfSamplesWithARandomPartOnlyTheRestIsCached) {
  const auto advice =
      advice_of(record({.input = 4 * kMs, .rest = 6 * kMs, .op_in_wait = "aten::uniform_"}));
  const Advice* cache = find(advice, "input-cache");
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->title, "cache the decoded samples");
  EXPECT_EQ(cache->saves_ns, 0) << "who knows how much of the wait that is";
}

}  // namespace
}  // namespace stepscope::testing

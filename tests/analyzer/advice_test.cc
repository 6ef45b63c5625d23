// Each rule of advice: that it speaks where it should, with the step time that is right by the
// making of the run, and is silent elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Advice, NamesALineThatStandsForItselfByItsPlace) {
  const LoopReport loop;
  FasterLine line{.place = "/src/my data.py:41", .function = "read", .inside = "", .blocked = ""};
  EXPECT_EQ(words_of(line, AdviceFacts{}, loop).title, "make read twice as fast");
  line.function = "";
  EXPECT_EQ(words_of(line, AdviceFacts{}, loop).title, "make my data.py:41 twice as fast");
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

// `starved`: of the longer steps' 40 ms, in which the loop's thread had no core.
double stall_that_was_starved_ms(std::int64_t starved) {
  Loop loop{.steps = 201};
  loop.more = [&](RecordingBuilder& made, ThreadId main, int step, std::int64_t at) {
    const std::int64_t after = logging(made, main, step, at);
    if (after - at > kMs)
      made.stretches.push_back(
          {main, session_time(at), Duration(after - at), Duration(0), Duration(starved)});
    return after;
  };
  const auto advice = advice_of(record(loop));
  const Advice* stall = find(advice, "periodic-stall");
  return stall == nullptr ? 0 : static_cast<double>(stall->predicted_step_ns) / kMs;
}

TEST(Advice, StepsThatHadNoCoreHaveNoStall) {
  EXPECT_NEAR(stall_that_was_starved_ms(0), 10, 0.02);
  EXPECT_NEAR(stall_that_was_starved_ms(10 * kMs), 10.5, 0.02) << "10 ms in each 20th step";
  EXPECT_EQ(stall_that_was_starved_ms(30 * kMs), 0);
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

// In each 20th step, 40 ms with ops and another scope inside.
std::int64_t logging_with_ops(RecordingBuilder& builder, ThreadId main, int step, std::int64_t at) {
  at += step % 7 * 1000;
  if (step % 20 != 10) return at;
  builder.phase(main, PhaseKind::kScope, at, at + 40 * kMs, 0, "logging");
  builder.op(main, "aten::mm", at + 5 * kMs, at + 25 * kMs, OpScope::kFunction);
  builder.phase(main, PhaseKind::kScope, at + 30 * kMs, at + 40 * kMs, 0, "table");
  builder.op(main, "aten::sum", at + 34 * kMs, at + 36 * kMs, OpScope::kFunction);
  return at + 40 * kMs;
}

TEST(WhatIf, AScopeIsAskedForWithEverythingInside) {
  const Loop loop{.steps = 201, .more = logging_with_ops};
  EXPECT_NEAR(asked_ms(loop, {.ops = {"logging=0"}}), 10, 0.02);
  EXPECT_NEAR(asked_ms(loop, {.ops = {"logging=2x"}}), 11, 0.02);
  EXPECT_NEAR(asked_ms(loop, {.ops = {"table=0"}}), 11.5, 0.02);
  EXPECT_NEAR(asked_ms(loop, {.ops = {"aten::sum=0"}}), 11.9, 0.02);
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

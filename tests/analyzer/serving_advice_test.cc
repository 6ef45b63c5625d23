// The production mistakes: each rule on a run that makes the mistake, with the call's time that is
// right by the making of the run, and on the nearest run that does not make it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "present/what_if_answer.h"
#include "present/what_if_json.h"
#include "present/what_if_text.h"
#include "store/counters.h"
#include "tests/analyzer/advice_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kUs = 1'000;

// What a call does after its first op, each op of 10 µs with a pause before it.
using Body = std::function<void(RecordingBuilder&, ThreadId, int call, std::int64_t& at)>;

void add_op(RecordingBuilder& builder, ThreadId main, const char* name, std::int64_t& at,
            std::int64_t length = 10 * kUs) {
  builder.op(main, name, at, at + length);
  at += length;
}

Loop serving(Body body, std::int64_t rest = kMs) {
  Loop loop{.steps = 40, .input = 10 * kUs, .rest = rest, .trains = false};
  loop.more = [body = std::move(body)](RecordingBuilder& builder, ThreadId main, int call,
                                       std::int64_t at) {
    body(builder, main, call, at);
    return at;
  };
  return loop;
}

const Advice* advice_on(RecordingBuilder builder, const std::string& rule,
                        std::vector<Advice>& all) {
  all = advice_of(std::move(builder));
  return find(all, rule);
}

// --- gradients -------------------------------------------------------------------------------

// Each op of a call makes a node; `from` says which number a call begins with.
Loop recording_gradients(bool records) {
  return serving([records](RecordingBuilder& builder, ThreadId main, int call, std::int64_t& at) {
    for (int i = 0; i < 50; ++i) {
      add_op(builder, main, "aten::relu", at);
      builder.ops().back().sequence = records ? call * 50 + i : -1;
    }
  });
}

TEST(Gradients, NodesThatNoBackwardUsesAreAMistake) {
  std::vector<Advice> all;
  const Advice* advice =
      advice_on(record(recording_gradients(true)), "gradients-in-inference", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->evidence.value, 49);
  EXPECT_NEAR(static_cast<double>(advice->saves_ns), 1.1 * 49 * 1000, 500)
      << "1.1 × the overhead of an op, which is 1 µs here";
  EXPECT_THAT(advice->why, HasSubstr("each call creates 49 autograd nodes"));
}

TEST(Gradients, WhatTheGraphKeepsIsWrittenToMemory) {
  RecordingBuilder builder = record(recording_gradients(true));
  // 40 calls of 1.51 ms in 60 ms: 1,000 tensors of 20 kB in all.
  for (int i = 0; i <= 12; ++i) {
    const auto at = session_time(i * 5 * kMs);
    builder.samples.push_back(
        {builder.process(1), builder.intern(counter::kTensorAllocations), at, i * 80});
    builder.samples.push_back(
        {builder.process(1), builder.intern(counter::kTensorAllocatedBytes), at, i * 80 * 20'000});
  }
  std::vector<Advice> all;
  const Advice* advice = advice_on(std::move(builder), "gradients-in-inference", all);
  ASSERT_NE(advice, nullptr);
  const double bytes_a_call = 16'000 * 20.0 * 1.51 / 1e3 * 1e3;  // 320 kB a ms
  EXPECT_NEAR(static_cast<double>(advice->saves_ns), 1.1 * 49 * 1000 + bytes_a_call / 10, 2000);
}

TEST(Gradients, NoGradOrABackwardPassIsNone) {
  std::vector<Advice> all;
  EXPECT_EQ(advice_on(record(recording_gradients(false)), "gradients-in-inference", all), nullptr);
  Loop trains = recording_gradients(true);
  trains.trains = true;
  EXPECT_EQ(advice_on(record(trains), "gradients-in-inference", all), nullptr);
  RecordingBuilder builder = record(recording_gradients(true));
  builder.phase(builder.thread("learner"), PhaseKind::kBackward, kMs, 2 * kMs);
  EXPECT_EQ(advice_on(std::move(builder), "gradients-in-inference", all), nullptr)
      << "another thread may use the nodes";
}

// --- training mode ---------------------------------------------------------------------------

Loop normalising(const char* before) {
  return serving([before](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    add_op(builder, main, before, at);
    builder.op(main, "aten::native_batch_norm", at, at + 400 * kUs);
    builder.ops().back().depth = 1;
    add_op(builder, main, "aten::batch_norm", at, 400 * kUs);
  });
}

TEST(TrainingMode, BatchNormThatCountsItsBatchesIsAMistake) {
  std::vector<Advice> all;
  const Advice* advice = advice_on(record(normalising("aten::add_")), "evaluation-mode", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(static_cast<double>(advice->saves_ns), 0.75 * 399 * kUs, 2 * kUs);
  EXPECT_THAT(advice->why, HasSubstr("batch norm takes its statistics from the batch"));
  EXPECT_EQ(advice_on(record(normalising("aten::conv2d")), "evaluation-mode", all), nullptr);
}

TEST(TrainingMode, AResidualAdditionBeforeSomeIsNone) {
  Loop loop = serving([](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    add_op(builder, main, "aten::add_", at);
    add_op(builder, main, "aten::batch_norm", at, 400 * kUs);
    add_op(builder, main, "aten::conv2d", at);
    add_op(builder, main, "aten::batch_norm", at, 400 * kUs);
  });
  std::vector<Advice> all;
  EXPECT_EQ(advice_on(record(loop), "evaluation-mode", all), nullptr);
}

// --- TorchScript -----------------------------------------------------------------------------

// 100 ops of 10 µs, each after 10 µs of the program's own code.
Loop eager(std::function<int(int call)> ops_of, std::int64_t gap = 10 * kUs) {
  return serving(
      [ops_of = std::move(ops_of), gap](RecordingBuilder& builder, ThreadId main, int call,
                                        std::int64_t& at) {
        for (int i = 0; i < ops_of(call); ++i) {
          at += gap;
          add_op(builder, main, "aten::mul", at);
        }
      },
      10 * kUs);
}

TEST(TorchScript, TheSameOpsWithCodeBetweenThemAreWorthAFunction) {
  std::vector<Advice> all;
  const Advice* advice = advice_on(record(eager([](int) { return 100; })), "torchscript", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(static_cast<double>(advice->saves_ns), 0.9 * 1000 * kUs, 5 * kUs);
  EXPECT_THAT(advice->why, HasSubstr("if their shapes are the same, too"));
}

TEST(TorchScript, ControlFlowChangingShapesAndScriptsAreNotForIt) {
  std::vector<Advice> all;
  EXPECT_EQ(advice_on(record(eager([](int call) { return 90 + call % 7; })), "torchscript", all),
            nullptr)
      << "the number of ops changes";
  EXPECT_EQ(advice_on(record(eager([](int) { return 10; }, 200 * kUs)), "torchscript", all),
            nullptr)
      << "pauses of 200 µs are work of the program";
  EXPECT_EQ(advice_on(record(eager([](int) { return 100; }, 0)), "torchscript", all), nullptr)
      << "no code between the ops";

  RecordingBuilder shapes = record(eager([](int) { return 100; }));
  for (std::size_t i = 0; i < shapes.ops().size(); ++i)
    shapes.ops()[i].shapes = shapes.intern("[[" + std::to_string(i / 101 % 9 + 1) + ",8]]");
  EXPECT_EQ(advice_on(std::move(shapes), "torchscript", all), nullptr);

  RecordingBuilder scripted = record(eager([](int) { return 100; }));
  scripted.ops()[300].scope = OpScope::kTorchScript;
  EXPECT_EQ(advice_on(std::move(scripted), "torchscript", all), nullptr);
}

// --- batches ---------------------------------------------------------------------------------

// Calls on batches of these lengths; the model's one large op takes 1 µs an element.
Loop padded(std::function<std::vector<std::int64_t>(int call)> lengths_of) {
  return serving(
      [lengths_of = std::move(lengths_of)](RecordingBuilder& builder, ThreadId main, int call,
                                           std::int64_t& at) {
        const BatchLengths batch{0, lengths_of(call), 0};
        std::string text = "lengths";
        for (const std::int64_t length : batch.lengths) text += " " + std::to_string(length);
        builder.phase(main, PhaseKind::kScope, at, at + kUs, 0, text);
        at += kUs;
        const auto samples = static_cast<std::int64_t>(batch.lengths.size());
        add_op(builder, main, "aten::addmm", at, 1000 + samples * batch.longest() * kUs);
      },
      11 * kUs);
}

TEST(SortByLength, TheTimeGoesWithWhatIsComputed) {
  const Loop loop = padded([](int) { return std::vector<std::int64_t>{10, 20, 30, 100}; });
  std::vector<Advice> all;
  const Advice* advice = advice_on(record(loop), "sort-by-length", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_DOUBLE_EQ(advice->evidence.value, 1 - 160.0 / 400);
  // 39 calls of four lengths, sorted: 9 calls each of 10, 20 and 30, three that mix two, 9 of 100.
  const PaddingUse use =
      padding_use(std::vector<BatchLengths>(39, BatchLengths{0, {10, 20, 30, 100}, 0}));
  EXPECT_NEAR(static_cast<double>(advice->saves_ns),
              410 * kUs * (1 - use.sorted.elements / use.computed.elements), 5 * kUs);
}

TEST(SortByLength, SortedOrSingleOrUnmarkedIsNone) {
  std::vector<Advice> all;
  EXPECT_EQ(advice_on(record(padded([](int call) {
                        return std::vector<std::int64_t>(4, call % 10 * 10 + 10);
                      })),
                      "sort-by-length", all),
            nullptr);
  EXPECT_EQ(
      advice_on(
          record(padded([](int call) { return std::vector<std::int64_t>{call % 10 * 10 + 10}; })),
          "sort-by-length", all),
      nullptr);
  EXPECT_EQ(advice_on(record(eager([](int) { return 100; })), "sort-by-length", all), nullptr);
}

// Sorted the longest first, the first calls take longest, and it is not that they are the first.
TEST(WarmUpOfCalls, LongSamplesAreNone) {
  const auto warm_up = [](const Loop& loop, const AnalyzeOptions& options = {}) {
    return analyze(record(loop).recording(), options)->loops.at(0).warm_up;
  };
  const auto longest_first = [](int call) {
    return std::vector<std::int64_t>(4, call < 3 ? 1000 : 100);
  };
  EXPECT_EQ(warm_up(padded(longest_first)), 1);
  Loop unmarked = padded(longest_first);
  unmarked.more = [more = unmarked.more](RecordingBuilder& builder, ThreadId main, int call,
                                         std::int64_t at) {
    const std::int64_t end = more(builder, main, call, at);
    builder.phases().pop_back();  // the mark
    return end;
  };
  EXPECT_EQ(warm_up(unmarked), 3);
  // Whoever names the steps means them all.
  AnalyzeOptions options;
  options.steps = StepSpan{1, 40};
  options.with_warm_up = true;
  EXPECT_EQ(warm_up(unmarked, options), 0);
}

TEST(SingleSamples, ABatchPaysForTheCallOnce) {
  Loop loop = eager([](int) { return 100; });
  RecordingBuilder builder = record(loop);
  const StringId linear = builder.intern("aten::linear");
  const StringId shapes = builder.intern("[[1,64],[8,64]]");
  for (Op& op : builder.ops()) {
    if (op.name == linear) op.shapes = shapes;
  }
  std::vector<Advice> all;
  const Advice* advice = advice_on(std::move(builder), "single-samples", all);
  ASSERT_NE(advice, nullptr);
  // Of 2,020 µs the input's 10 stay; all else, tiny ops of up to 10 µs and the code between them,
  // is shared by 16.
  EXPECT_NEAR(static_cast<double>(advice->predicted_step_ns), 10 * kUs + 2010 * kUs / 16, 3 * kUs);
}

TEST(SingleSamples, AMarkOfOneSampleSaysSoTooAndABatchIsNone) {
  std::vector<Advice> all;
  const auto one = [](int) { return std::vector<std::int64_t>{3}; };
  const auto two = [](int) { return std::vector<std::int64_t>{3, 3}; };
  EXPECT_NE(advice_on(record(padded(one)), "single-samples", all), nullptr);
  EXPECT_EQ(advice_on(record(padded(two)), "single-samples", all), nullptr);
  Loop trains = padded(one);
  trains.trains = true;
  EXPECT_EQ(advice_on(record(trains), "single-samples", all), nullptr);
}

TEST(SingleSamples, UnequalLengthsAreToBeSortedFirst) {
  std::vector<Advice> all;
  const auto lengths = [](int call) { return std::vector<std::int64_t>{call % 4 + 1}; };
  const Advice* advice = advice_on(record(padded(lengths)), "single-samples", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->title, "sort by length, batch 16 per call");
  // Each 16 in the order of the calls have one of 4: of 64 elements, 40 are content.
  EXPECT_THAT(advice->why, ::testing::HasSubstr("unsorted, 37."));

  const auto equal = [](int) { return std::vector<std::int64_t>{3}; };
  EXPECT_EQ(advice_on(record(padded(equal)), "single-samples", all)->title,
            "batch 16 samples per call");
}

// --- reading ---------------------------------------------------------------------------------

Loop reading(int items) {
  return serving([items](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    for (int i = 0; i < items; ++i) {
      at += 5 * kUs;
      add_op(builder, main, "aten::select", at);
      at += 5 * kUs;
      builder.op(main, "aten::_local_scalar_dense", at, at + 5 * kUs);
      add_op(builder, main, "aten::item", at);
    }
  });
}

TEST(ReadAtOnce, ManyItemsAreReadInOneGo) {
  std::vector<Advice> all;
  const Advice* advice = advice_on(record(reading(20)), "read-at-once", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(static_cast<double>(advice->saves_ns), 20 * 30 * kUs, 10 * kUs)
      << "both ops and what lies between them";
  EXPECT_EQ(advice_on(record(reading(2)), "read-at-once", all), nullptr) << "a loss and a metric";
}

TEST(ReadAtOnce, TheCodeBetweenTheReadsIsNotTheModels) {
  std::vector<Advice> all;
  const Loop loop = reading(200);
  EXPECT_NE(advice_on(record(loop), "read-at-once", all), nullptr);
  EXPECT_EQ(advice_on(record(loop), "torchscript", all), nullptr);
}

// --- devices ---------------------------------------------------------------------------------

void sample_gpu(RecordingBuilder& builder, std::int64_t percent) {
  for (int i = 0; i <= 12; ++i) {
    builder.samples.push_back({ProcessId::kNone, builder.intern(counter::kGpuUtilization),
                               session_time(i * 5 * kMs), percent, 0});
  }
}

TEST(IdleGpu, TheCpuComputesAndTheGpuDoesNothing) {
  const Loop loop = serving([](RecordingBuilder&, ThreadId, int, std::int64_t&) {});
  RecordingBuilder idle = record(loop);
  sample_gpu(idle, 0);
  std::vector<Advice> all;
  const Advice* advice = advice_on(std::move(idle), "idle-gpu", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->saves_ns, 0) << "what it would save is not known";
  RecordingBuilder busy = record(loop);
  sample_gpu(busy, 60);
  EXPECT_EQ(advice_on(std::move(busy), "idle-gpu", all), nullptr);
  EXPECT_EQ(advice_on(record(loop), "idle-gpu", all), nullptr) << "there is none";
}

// A call on a device: a convolution of a kernel of 400 µs that the host does not wait for, and then
// what `more` does.
struct OnDevice {
  std::function<void(RecordingBuilder&, ThreadId, int call, std::int64_t& at)> more;
  bool tries = false;  // cuDNN tried other kernels in the first call

  [[nodiscard]] RecordingBuilder recorded() const {
    std::int64_t correlation = 0;
    return record(serving(
        [this, correlation](RecordingBuilder& builder, ThreadId main, int call,
                            std::int64_t& at) mutable {
          const StreamId stream = builder.stream(7);
          const std::int64_t begin = at;
          if (tries && call == 0) {
            builder.call(main, "cudaLaunchKernel", at + 5 * kUs, at + 8 * kUs, ++correlation);
            builder.kernel(stream, "winograd", at + 10 * kUs, at + 60 * kUs, correlation);
          }
          at += 100 * kUs;
          builder.call(main, "cudaLaunchKernel", at, at + 5 * kUs, ++correlation);
          builder.kernel(stream, "implicit_gemm", at + 10 * kUs, at + 410 * kUs, correlation);
          at += 10 * kUs;
          builder.op(main, "aten::cudnn_convolution", begin, at);
          if (more) more(builder, main, call, at);
          // The next call's work waits for the device.
          at += 500 * kUs;
          builder.call(main, "cudaStreamSynchronize", at - 100 * kUs, at);
        },
        10 * kUs));
  }
};

TEST(CudnnBenchmark, ConvolutionsOfTheSameShapesAreWorthMeasuring) {
  std::vector<Advice> all;
  const Advice* advice = advice_on(OnDevice{}.recorded(), "cudnn-benchmark", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->saves_ns, 0);
  EXPECT_THAT(advice->why, HasSubstr("cuDNN's benchmark mode is off"));
  EXPECT_EQ(advice_on(OnDevice{.more = {}, .tries = true}.recorded(), "cudnn-benchmark", all),
            nullptr)
      << "it did measure";
}

// The setting was recorded: what the first call's kernels look like is no matter then.
TEST(CudnnBenchmark, TheSettingIsBelievedOverTheKernels) {
  const auto advised = [](bool on, bool tries) {
    RecordingBuilder builder = OnDevice{.more = {}, .tries = tries}.recorded();
    builder.facts.cudnn_benchmark = on;
    std::vector<Advice> all;
    const Advice* advice = advice_on(std::move(builder), "cudnn-benchmark", all);
    return advice == nullptr ? "" : advice->why;
  };
  EXPECT_EQ(advised(true, false), "") << "its first call was not recorded as it was, or is";
  EXPECT_EQ(advised(true, true), "");
  EXPECT_THAT(advised(false, true), HasSubstr("; cuDNN's benchmark mode is off."));
  EXPECT_THAT(advised(false, false), HasSubstr("; cuDNN's benchmark mode is off."));
}

TEST(CudnnBenchmark, ChangingOpsAreNone) {
  const OnDevice changing{
      .more = [](RecordingBuilder& builder, ThreadId main, int call, std::int64_t& at) {
        for (int i = 0; i < call % 5; ++i) add_op(builder, main, "aten::view", at);
      }};
  std::vector<Advice> all;
  EXPECT_EQ(advice_on(changing.recorded(), "cudnn-benchmark", all), nullptr);
}

// The thread runs ahead of the device, so what its own time consists of is no part of the step.
TEST(WhatIfOnADevice, DoesNotDivideTheStepByTheLoopThread) {
  const OnDevice sorts{.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    add_op(builder, main, "aten::sort", at, 800 * kUs);
  }};
  const auto answer = what_if(sorts.recorded().recording(), {.ops = {"aten::sort=2x"}});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_FALSE(answer->thread_sets_time);
  EXPECT_THAT(what_if_text(*answer), ::testing::Not(HasSubstr("where the loop thread")));
  EXPECT_THAT(what_if_json(*answer), HasSubstr("\"exposed_after\": null"));
}

TEST(OpsOnCpu, AnOpThatLaunchesNothingComputesOnTheHost) {
  const OnDevice sorts{.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    add_op(builder, main, "aten::sort", at, 800 * kUs);
  }};
  std::vector<Advice> all;
  const Advice* advice = advice_on(sorts.recorded(), "ops-on-cpu", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->why, HasSubstr("aten::sort runs on the CPU for 799 µs a call"));
  const OnDevice views{.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    for (int i = 0; i < 80; ++i) add_op(builder, main, "aten::view", at);
  }};
  EXPECT_EQ(advice_on(views.recorded(), "ops-on-cpu", all), nullptr) << "a view computes nothing";
  const OnDevice makes{.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    for (const char* op : {"aten::empty", "aten::empty_like", "aten::new_empty", "aten::resize_"})
      add_op(builder, main, op, at, 200 * kUs);
  }};
  EXPECT_EQ(advice_on(makes.recorded(), "ops-on-cpu", all), nullptr) << "of the device's memory";
  EXPECT_EQ(advice_on(record(reading(0)), "ops-on-cpu", all), nullptr) << "there is no device";
}

TEST(BlockingSync, ItemIsNamedWhereItWaits) {
  const OnDevice reads{.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t& at) {
    builder.call(main, "cudaStreamSynchronize", at + 5 * kUs, at + 400 * kUs);
    builder.op(main, "aten::_local_scalar_dense", at + 2 * kUs, at + 402 * kUs);
    add_op(builder, main, "aten::item", at, 404 * kUs);
    add_op(builder, main, "aten::mul", at, 300 * kUs);
  }};
  std::vector<Advice> all;
  const Advice* advice = advice_on(reads.recorded(), "blocking-sync", all);
  ASSERT_NE(advice, nullptr);
  EXPECT_THAT(advice->why, HasSubstr(".item() waits for the device 1 times a call"));
}

}  // namespace
}  // namespace stepscope::testing

// Host time that goes to native libraries other than PyTorch is compute, and has their names.
#include "analyzer/lines/native_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/lines/own_code.h"
#include "analyzer/verdict/summary.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr const char* kNumpy =
    "/venv/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-56d6093b.so";
constexpr const char* kVision = "/venv/lib/python3.11/site-packages/torchvision/_C.so";

// Steps of 20 ms: half of one of input, an op until 6, 8 outside any op, 4 of backward, all of it
// an op, and 2 of the optimizer, the same.
struct Loop20 {
  RecordingBuilder builder;
  ThreadId main = builder.thread("main");
  int steps = 0;

  static std::int64_t begin(int step) { return (100 + 20 * std::int64_t{step}) * kMs; }
  explicit Loop20(int count) : steps(count) {
    for (int i = 0; i < steps; ++i) {
      const std::int64_t at = begin(i);
      builder.phase(main, PhaseKind::kInput, at, at + kMs / 2, 0, "loader");
      builder.op(main, "aten::linear", at + kMs / 2, at + 6 * kMs);
      builder.phase(main, PhaseKind::kBackward, at + 14 * kMs, at + 18 * kMs);
      builder.op(main, "aten::mm", at + 14 * kMs, at + 18 * kMs);
      builder.phase(main, PhaseKind::kOptimizer, at + 18 * kMs, at + 20 * kMs);
      builder.op(main, "aten::add_", at + 18 * kMs, at + 20 * kMs);
    }
    const RecordedRun recording = builder.recording();
    StoredWatchedThread thread;
    thread.id = WatchedThreadId{1};
    thread.process = ProcessId{1};
    thread.pid = recording.processes.front().pid;
    thread.tid = recording.threads.front().tid;
    builder.watched.push_back(thread);
    builder.facts.sampling.native_period = Duration(2 * kMs);
  }
  // Each 2 ms of the step, in the middle, a library: `outside` where it is outside any op and any
  // input, else `elsewhere`. Null: none.
  void sample(const char* outside, const char* elsewhere = nullptr) {
    for (int i = 0; i < steps; ++i) {
      for (std::int64_t ms = 1; ms < 20; ms += 2) {
        const char* const library = ms > 6 && ms < 14 ? outside : elsewhere;
        if (library == nullptr) continue;
        builder.native_samples.push_back(
            {WatchedThreadId{1}, session_time(begin(i) + ms * kMs), builder.intern(library)});
      }
    }
  }
  LoopReport report() {
    const RecordedRun recording = builder.recording();
    auto found = analyze(recording);
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->loops.size(), 1U);
    return std::move(found->loops.front());
  }
};

double share(const LoopReport& report, Category category) {
  return share_of(report.shares, category);
}

TEST(NativeCode, HostTimeInALibraryIsCompute) {
  Loop20 loop(100);
  loop.sample(kNumpy);
  const LoopReport report = loop.report();
  EXPECT_NEAR(share(report, Category::kHost), 0, 0.03);
  EXPECT_NEAR(share(report, Category::kCompute), 0.975, 0.03);
  EXPECT_EQ(report.verdict.kind, "compute-bound");
  ASSERT_EQ(report.native.size(), 1U);
  EXPECT_EQ(report.native[0].library, "numpy (libscipy_openblas64_)");
  EXPECT_NEAR(report.native[0].share, 0.4, 0.03);
  for (const Step& step : report.steps) {
    Duration sum{0};
    for (const StepTime& time : step.times) sum += time.exposed;
    EXPECT_EQ(sum, step.dur) << step.number;
  }
}

TEST(NativeCode, WithoutSamplesTheTimeIsTheProgramsOwn) {
  Loop20 loop(100);
  const LoopReport report = loop.report();
  EXPECT_NEAR(share(report, Category::kHost), 0.4, 0.01);
  EXPECT_EQ(report.verdict.kind, "host-bound");
  EXPECT_TRUE(report.native.empty());
}

// torchvision's ops are PyTorch's: their time is compute already, and says nothing of the rest.
TEST(NativeCode, ALibraryThatDoesTheWorkOfOpsCountsOutsideOfThem) {
  Loop20 loop(100);
  loop.sample(nullptr, kVision);
  const LoopReport report = loop.report();
  EXPECT_NEAR(share(report, Category::kHost), 0.4, 0.03);
  for (const NativeShare& native : report.native) EXPECT_LT(native.share, 0.03);
}

// Where only some steps have ops, these say what part of a library's samples lies outside them.
TEST(NativeCode, StepsWithoutOpsDivideAsThoseWithOps) {
  Loop20 loop(100);
  loop.builder.facts.windowed = true;
  std::erase_if(loop.builder.ops(), [](const Op& op) {
    const std::int64_t step = (to_ns(op.start) / kMs - 100) / 20;
    return step % 10 >= 5;
  });
  loop.sample(kNumpy, kVision);
  const LoopReport report = loop.report();
  ASSERT_GE(report.native.size(), 1U);
  EXPECT_EQ(report.native[0].library, "numpy (libscipy_openblas64_)");
  EXPECT_NEAR(report.native[0].share, 0.4, 0.02);
  for (std::size_t i = 1; i < report.native.size(); ++i)
    EXPECT_LT(report.native[i].share, 0.02) << report.native[i].library;
}

TEST(NativeCode, ScopesAreNotCounted) {
  Loop20 loop(100);
  for (int i = 0; i < loop.steps; ++i) {
    const std::int64_t at = Loop20::begin(i);
    loop.builder.phase(loop.main, PhaseKind::kScope, at + 6 * kMs, at + 14 * kMs, 0, "post");
  }
  loop.sample(kNumpy);
  const LoopReport report = loop.report();
  EXPECT_TRUE(report.native.empty());
  EXPECT_NEAR(share(report, Category::kOther), 0.4, 0.01);
}

// A thread that has a core for half of the time leaves half of the samples.
TEST(NativeCode, TimeWithoutACoreIsDividedLikeTheRest) {
  Loop20 loop(100);
  for (int i = 0; i < loop.steps; ++i) {
    const std::int64_t at = Loop20::begin(i);
    const Duration whole(39 * kMs / 2);
    loop.builder.stretches.push_back(
        {loop.main, session_time(at + kMs / 2), whole, whole / 2, whole / 2});
    for (const std::int64_t ms : {9, 13}) {
      loop.builder.native_samples.push_back(
          {WatchedThreadId{1}, session_time(at + ms * kMs), loop.builder.intern(kNumpy)});
    }
  }
  const LoopReport report = loop.report();
  ASSERT_EQ(report.native.size(), 1U);
  EXPECT_NEAR(report.native[0].share, 0.4, 0.03);
  EXPECT_NEAR(share(report, Category::kHost), 0, 0.03);
}

TEST(NativeCode, AShortLoopIsNotSplit) {
  Loop20 loop(100);
  loop.builder.facts.sampling.native_period = Duration(50 * kMs);
  loop.sample(kNumpy);
  const LoopReport report = loop.report();
  EXPECT_NEAR(share(report, Category::kHost), 0.4, 0.01);
  EXPECT_TRUE(report.native.empty());
}

// A step's own samples tell of it, where there are enough.
TEST(NativeCode, LongStepsAreSplitByTheirOwnSamples) {
  Loop20 loop(100);
  loop.builder.facts.sampling.native_period = Duration(kMs / 2);
  for (int i = 0; i < loop.steps; i += 2) {  // eight of the twenty milliseconds
    for (std::int64_t half = 12; half < 28; ++half) {
      loop.builder.native_samples.push_back({WatchedThreadId{1},
                                             session_time(Loop20::begin(i) + half * kMs / 2),
                                             loop.builder.intern(kNumpy)});
    }
  }
  const LoopReport report = loop.report();
  for (std::size_t i = 2; i < report.steps.size(); ++i) {
    const auto host = static_cast<double>(exposed_ns(report.steps[i], Category::kHost)) / kMs;
    EXPECT_NEAR(host, i % 2 == 0 ? 0 : 8, 0.2) << i;
  }
}

// A period that no recorder has.
TEST(NativeCode, AnImpossiblePeriodSplitsNothing) {
  for (const std::int64_t period : {std::int64_t{0}, std::int64_t{5'000} * kMs}) {
    Loop20 loop(100);
    loop.builder.facts.sampling.native_period = Duration(period);
    loop.sample(kNumpy);
    EXPECT_TRUE(loop.report().native.empty()) << period;
  }
}

TEST(NativeCode, ALibraryIsNamedWithItsPackage) {
  EXPECT_EQ(native_library(kNumpy), "numpy (libscipy_openblas64_)");
  EXPECT_EQ(native_library("/v/site-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so"),
            "PIL (_imaging)");
  EXPECT_EQ(native_library("/v/site-packages/tokenizers/tokenizers.abi3.so"), "tokenizers");
  EXPECT_EQ(native_library("/v/site-packages/_cffi_backend.abi3.so"), "_cffi_backend");
  EXPECT_EQ(native_library("/usr/lib/libopenblas.so.0"), "libopenblas");
}

}  // namespace
}  // namespace stepscope::testing

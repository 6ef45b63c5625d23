// A loop's time is divided among the lines of the program: marks and the scheduler give the totals,
// samples the parts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/lines/own_code.h"
#include "analyzer/what_if.h"
#include "present/advice/advice_words.h"
#include "present/what_if_answer.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr const char* kTorch = "/venv/lib/python3.11/site-packages/torch/utils/data/worker.py";

// Steps of 20 ms: 10 ms of input, then 4 of forward, 4 of backward, 1 of the optimizer, 1 of
// nothing marked.
struct Training {
  RecordingBuilder builder;
  ThreadId main = builder.thread("main");
  int steps = 100;

  static std::int64_t begin(int step) { return (100 + 20 * std::int64_t{step}) * kMs; }
  Training() {
    for (int i = 0; i < steps; ++i) {
      const std::int64_t at = begin(i);
      builder.phase(main, PhaseKind::kInput, at, at + 10 * kMs, 0, "loader");
      builder.phase(main, PhaseKind::kBackward, at + 14 * kMs, at + 18 * kMs);
      builder.phase(main, PhaseKind::kOptimizer, at + 18 * kMs, at + 19 * kMs);
    }
    watch(0, 0);  // of_main()
  }
  // The number of its row.
  WatchedThreadId watch(std::int64_t pid, std::int64_t tid) {
    StoredWatchedThread thread;
    thread.id = static_cast<WatchedThreadId>(builder.watched.size() + 1);
    thread.process = ProcessId{1};
    thread.pid = pid;
    thread.tid = tid;
    thread.name = "thread";
    builder.watched.push_back(thread);
    return thread.id;
  }
  void sample(WatchedThreadId thread, int step, std::int64_t after_ns, FrameId frame,
              const std::string& blocked = "", bool awaited = false) {
    builder.stack_samples.push_back({thread, session_time(begin(step) + after_ns), frame, awaited,
                                     blocked.empty() ? StringId::kNone : builder.intern(blocked)});
  }
  LoopReport report() {
    const RecordedRun recording = builder.recording();
    auto found = analyze(recording);
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->loops.size(), 1U);
    return std::move(found->loops.front());
  }
};

// The loop's own, once it has the ids of the loop's thread.
WatchedThreadId of_main(Training& training) {
  const RecordedRun recording = training.builder.recording();
  for (const StoredThread& thread : recording.threads) {
    if (thread.id == training.main) training.builder.watched[0].tid = thread.tid;
  }
  for (const StoredProcess& process : recording.processes)
    training.builder.watched[0].pid = process.pid;
  return training.builder.watched[0].id;
}

std::vector<LineShare> lines_of(const LoopReport& report, LinePlace place,
                                const std::string& category) {
  std::vector<LineShare> lines;
  for (const LineShare& line : report.lines) {
    if (line.place == place && line.category == category) lines.push_back(line);
  }
  return lines;
}

TEST(Lines, ALineHasTheTimeOfItsPhaseThatSamplesGiveIt) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId top = training.builder.frame(FrameId::kNone, "/src/train.py", 9, "main");
  const FrameId decode = training.builder.frame(top, "/src/data.py", 41, "decode");
  const FrameId read = training.builder.frame(top, "/src/data.py", 12, "read");
  const FrameId model = training.builder.frame(top, "/src/model.py", 5, "forward");
  for (int i = 0; i < training.steps; ++i) {
    for (int k = 0; k < 4; ++k) training.sample(main, i, (1 + 2 * k) * kMs, k < 3 ? decode : read);
    training.sample(main, i, 12 * kMs, model);
    training.sample(main, i, 19 * kMs + kMs / 2, top);
  }
  const LoopReport report = training.report();
  const auto input = lines_of(report, LinePlace::kLoop, "input");
  ASSERT_EQ(input.size(), 2U);
  EXPECT_EQ(input[0].function, "decode");
  EXPECT_EQ(input[0].line, 41);
  EXPECT_NEAR(input[0].share, 0.75, 1e-9);
  EXPECT_LT(input[0].ci_low, 0.75);
  EXPECT_GT(input[0].ci_high, 0.75);
  EXPECT_NEAR(static_cast<double>(to_ns(input[0].step)), 7.5e6, 1e5);
  const auto forward = lines_of(report, LinePlace::kLoop, "forward");
  ASSERT_EQ(forward.size(), 1U);
  EXPECT_EQ(forward[0].file, "/src/model.py");
  EXPECT_NEAR(forward[0].share, 1, 1e-9);
  EXPECT_LT(forward[0].ci_low, 1) << "100 samples do not make it certain";
  EXPECT_EQ(lines_of(report, LinePlace::kLoop, "host").size(), 1U);
}

// The forward pass begins with its first op. The time before it is not the model's, so neither are
// the samples that were taken then.
TEST(Lines, BetweenABatchAndTheFirstOpTheProgramItselfRuns) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId sleep = training.builder.frame(FrameId::kNone, "/src/train.py", 13, "<module>");
  const FrameId model = training.builder.frame(FrameId::kNone, "/src/train.py", 16, "<module>");
  const FrameId update = training.builder.frame(FrameId::kNone, "/src/train.py", 18, "<module>");
  for (int i = 0; i < training.steps; ++i) {
    const std::int64_t at = Training::begin(i);
    training.builder.op(training.main, "aten::linear", at + 13 * kMs, at + 13 * kMs + kMs / 2);
    training.builder.op(training.main, "aten::sum", at + 13 * kMs + kMs / 2, at + 14 * kMs);
    for (int k = 0; k < 3; ++k)
      training.sample(main, i, 10 * kMs + (1 + 2 * k) * kMs / 2, sleep, "clock_nanosleep");
    training.sample(main, i, 13 * kMs + kMs / 4, model);
    if (i % 2 == 0) training.sample(main, i, 19 * kMs + kMs / 2, update);
    if (i % 20 == 5) training.sample(main, i, 13 * kMs + kMs / 2, sleep, "clock_nanosleep");
    // It slept for 3 of the 4 ms before the backward pass; no mark says in which of them.
    training.builder.stretches.push_back({training.main, session_time(at + 10 * kMs),
                                          Duration(4 * kMs), Duration(kMs), Duration(0)});
  }
  const LoopReport report = training.report();
  EXPECT_NEAR(report.phases.other, 4e6, 1e5);
  EXPECT_NEAR(report.phases.forward, 1e6, 1e5);
  const auto host = lines_of(report, LinePlace::kLoop, "host");
  ASSERT_EQ(host.size(), 2U);
  EXPECT_EQ(host[0].line, 13);
  EXPECT_NEAR(static_cast<double>(to_ns(host[0].step)), 3e6, 1e5);
  EXPECT_EQ(host[1].line, 18);
  EXPECT_NEAR(static_cast<double>(to_ns(host[1].step)), 1e6, 1e5);
  const auto forward = lines_of(report, LinePlace::kLoop, "forward");
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(forward[0].line, 16);
  EXPECT_NEAR(forward[0].share, 0.95, 0.01);
  EXPECT_EQ(report.line_use.samples(LinePlace::kLoop, "forward"),
            forward[0].samples + forward[1].samples);
}

// Between a batch and the backward pass, its hooks take no stacks.
TEST(Lines, InACppProgramLinesDivideOnlyTheTimeThatHasStacks) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId update = training.builder.frame(FrameId::kNone, "/src/main.cc", 18, "main");
  for (int i = 0; i < training.steps; ++i) {
    const std::int64_t at = Training::begin(i);
    training.builder.op(training.main, "aten::linear", at + 13 * kMs, at + 14 * kMs);
    training.sample(main, i, 19 * kMs + kMs / 2, update);
  }
  training.builder.facts.sampling.native = training.steps;
  const auto host = lines_of(training.report(), LinePlace::kLoop, "host");
  ASSERT_EQ(host.size(), 1U);
  EXPECT_NEAR(host[0].share, 0.25, 0.01) << "1 of the 4 ms between the phases";
  EXPECT_NEAR(static_cast<double>(to_ns(host[0].step)), 1e6, 1e5);
}

// A late sampler finds threads asleep too often; the scheduler knows how long they slept.
TEST(Lines, SleepAndWorkAreDividedAsTheSchedulerSays) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId busy = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "decode");
  const FrameId asleep = training.builder.frame(FrameId::kNone, "/src/data.py", 12, "read");
  for (int i = 0; i < training.steps; ++i) {
    training.sample(main, i, 1 * kMs, busy);
    for (int k = 1; k < 4; ++k) training.sample(main, i, (1 + 2 * k) * kMs, asleep, "read /a.bin");
    // In truth it slept for 4 of the 10 ms.
    training.builder.stretches.push_back({training.main, session_time(Training::begin(i)),
                                          Duration(10 * kMs), Duration(6 * kMs), Duration(0)});
  }
  const auto lines = lines_of(training.report(), LinePlace::kLoop, "input");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].function, "decode");
  EXPECT_NEAR(lines[0].share, 0.6, 1e-6);
  EXPECT_EQ(lines[0].blocked, "");
  EXPECT_NEAR(lines[1].share, 0.4, 1e-6);
  EXPECT_EQ(lines[1].blocked, "read /a.bin");
}

TEST(Lines, OfAWorkerOnlyTheTimeCountsInWhichItIsAwaited) {
  Training training;
  of_main(training);
  const WatchedThreadId worker = training.watch(training.builder.watched[0].pid, 9001);
  const WatchedThreadId idle = training.watch(training.builder.watched[0].pid, 9002);
  const WatchedThreadId kernels = training.watch(training.builder.watched[0].pid, 9003);
  RecordingBuilder& builder = training.builder;
  const FrameId started = builder.frame(FrameId::kNone, "/src/train.py", 9, "main");
  const FrameId process = builder.frame(started, "/usr/lib/python3.11/multiprocessing/process.py",
                                        314, "BaseProcess._bootstrap");
  const FrameId fetch = builder.frame(process, kTorch, 54, "fetch");
  const FrameId decode = builder.frame(fetch, "/src/data.py", 41, "decode");
  const FrameId open =
      builder.frame(decode, "/venv/lib/python3.11/site-packages/PIL/Image.py", 300, "load");
  const FrameId waits = builder.frame(process, kTorch, 20, "get");
  const FrameId polls = builder.frame(
      FrameId::kNone, "/venv/lib/python3.11/site-packages/ipykernel/iostream.py", 478, "watch");
  for (int i = 0; i < training.steps; ++i) {
    training.sample(kernels, i, 2 * kMs, polls, "read a pipe", true);
    training.sample(worker, i, 2 * kMs, open, "", true);
    training.sample(worker, i, 6 * kMs, fetch, "", true);
    training.sample(worker, i, 15 * kMs, waits, "futex", false);
    training.sample(idle, i, 3 * kMs, waits, "futex", true);
  }
  const LoopReport report = training.report();
  const auto lines = lines_of(report, LinePlace::kWorker, "input");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].function, "decode") << "the program's own first";
  EXPECT_EQ(lines[0].inside, "PIL/Image.py load");
  EXPECT_NEAR(lines[0].share, 0.5, 1e-6);
  EXPECT_EQ(lines[1].file, kTorch) << "what called nothing of the program's";
  EXPECT_EQ(report.line_use.worker_samples, 2 * training.steps - 2)
      << "steady steps, without the thread that only waits and the one of Jupyter";
}

// A generator expression is a function of its own, in the same line. No op was recorded: samples
// need no replay.
TEST(Lines, OfALineAllThatBeginsInItGetsFaster) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId line = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "decode");
  const FrameId inner = training.builder.frame(line, "/src/data.py", 41, "decode.<genexpr>");
  for (int i = 0; i < training.steps; ++i) {
    training.sample(main, i, 3 * kMs, line);
    training.sample(main, i, 7 * kMs, inner);
    training.sample(main, i, 12 * kMs, line);  // of the forward pass, 4 ms
  }
  WhatIfQuestion question;
  question.line = "data.py:41=2x";
  const auto answer = what_if(training.builder.recording(), question);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NEAR(answer->baseline.step_ns, 20e6, 1e5);
  EXPECT_NEAR(answer->predicted.step_ns, 13e6, 1e5);
  EXPECT_LE(answer->predicted.ci95.low, answer->predicted.step_ns);
  EXPECT_GE(answer->predicted.ci95.high, answer->predicted.step_ns);
  EXPECT_EQ(answer->notes.size(), 2U);
}

// 3 of 4 samples are in one line and the rest in another of the same function.
void sample_two_lines(Training& training, const std::string& function) {
  const WatchedThreadId main = of_main(training);
  const FrameId first = training.builder.frame(FrameId::kNone, "/src/data.py", 41, function);
  const FrameId second = training.builder.frame(FrameId::kNone, "/src/data.py", 42, function);
  for (int i = 0; i < training.steps; ++i) {
    for (int k = 0; k < 4; ++k) training.sample(main, i, (1 + 2 * k) * kMs, k < 3 ? first : second);
  }
}

Advice faster_line_of(Training& training) {
  for (const Advice& advice : make_advice(training.report())) {
    if (advice.rule == "faster-line") return advice;
  }
  ADD_FAILURE() << "no such advice";
  return {};
}

TEST(Lines, AdviceThatNamesALineStatesTheShareOfThatLine) {
  Training training;
  sample_two_lines(training, "<module>");
  const Advice advice = faster_line_of(training);
  EXPECT_EQ(advice.title, "make data.py:41 twice as fast");
  EXPECT_NE(advice.why.find("data.py:41: it takes 75.0 %"), std::string::npos) << advice.why;
  EXPECT_NEAR(advice.evidence.value, 0.75, 1e-6);
  EXPECT_NE(advice.evidence.query.find("function = '<module>' AND line = 41"), std::string::npos)
      << advice.evidence.query;
  WhatIfQuestion question;
  question.line = "data.py:41=2x";
  const auto answer = what_if(training.builder.recording(), question);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NEAR(static_cast<double>(advice.predicted_step_ns), answer->predicted.step_ns, 1);
}

TEST(Lines, AdviceThatNamesAFunctionStatesTheShareOfAllItsLines) {
  Training training;
  sample_two_lines(training, "Data's.decode");
  const Advice advice = faster_line_of(training);
  EXPECT_EQ(advice.title, "make Data's.decode twice as fast");
  EXPECT_NE(advice.why.find("the function takes 100.0 %"), std::string::npos) << advice.why;
  EXPECT_NEAR(advice.evidence.value, 1, 1e-6);
  EXPECT_TRUE(advice.evidence.query.ends_with("function = 'Data''s.decode'"))
      << advice.evidence.query;
  EXPECT_NEAR(static_cast<double>(advice.predicted_step_ns), 15e6, 1e5);
}

// The function that waits for the batch also calls the backward pass: it is the loop itself.
TEST(Lines, AdviceDoesNotNameTheFunctionThatContainsTheLoop) {
  Training training;
  const WatchedThreadId main = of_main(training);
  RecordingBuilder& builder = training.builder;
  const FrameId wait = builder.frame(FrameId::kNone, "/src/train.py", 41, "train");
  const FrameId step = builder.frame(FrameId::kNone, "/src/train.py", 43, "train");
  const FrameId backward = builder.frame(step, kTorch, 9, "backward");
  const FrameId call = builder.frame(FrameId::kNone, "/src/train.py", 40, "train");
  const FrameId decode = builder.frame(call, "/src/data.py", 7, "decode");
  for (int i = 0; i < training.steps; ++i) {
    for (int k = 0; k < 4; ++k) training.sample(main, i, (1 + 2 * k) * kMs, k < 3 ? wait : decode);
    training.sample(main, i, 16 * kMs, backward);
  }
  const Advice advice = faster_line_of(training);
  EXPECT_EQ(advice.title, "make train.py:41 twice as fast");
  EXPECT_NEAR(advice.evidence.value, 0.75, 1e-6);
  EXPECT_TRUE(advice.evidence.query.ends_with("function = 'train' AND line = 41"))
      << advice.evidence.query;
}

TEST(Lines, NoAdviceNamesALineThatWaitsForAnotherThread) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId get = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "next_batch");
  for (int i = 0; i < training.steps; ++i) {
    for (int k = 0; k < 4; ++k) training.sample(main, i, (1 + 2 * k) * kMs, get, "futex");
  }
  for (const Advice& advice : make_advice(training.report())) EXPECT_NE(advice.rule, "faster-line");
}

TEST(Lines, AFewSamplesOfACategoryAdviseNothing) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId model = training.builder.frame(FrameId::kNone, "/src/train.py", 16, "<module>");
  for (int i = 0; i < training.steps; ++i)
    for (int k = 0; k < 2; ++k) training.sample(main, i, (12 + k) * kMs, model);
  for (int i = 10; i < 13; ++i) training.sample(main, i, 3 * kMs, model);
  for (const Advice& advice : make_advice(training.report())) EXPECT_NE(advice.rule, "faster-line");
}

// A C++ program takes no stacks in its passes. One at the edge of a pass is not all of the pass.
TEST(Lines, ThePassesOfACppProgramHaveNone) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId line = training.builder.frame(FrameId::kNone, "/src/main.cc", 115, "classify");
  for (int i = 0; i < training.steps; ++i) {
    training.sample(main, i, 5 * kMs, line);
    training.sample(main, i, 10 * kMs + 1, line);
  }
  training.builder.facts.sampling.native = 2 * std::int64_t{training.steps};
  const LoopReport report = training.report();
  const auto input = lines_of(report, LinePlace::kLoop, "input");
  ASSERT_EQ(input.size(), 1U);
  EXPECT_TRUE(lines_of(report, LinePlace::kLoop, "forward").empty());
  EXPECT_EQ(report.line_use.loop_samples, input[0].samples);
}

TEST(Lines, LooksThatCameTooLateAreWithheld) {
  Training training;
  const WatchedThreadId main = of_main(training);
  const FrameId line = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "decode");
  for (int i = 0; i < training.steps; ++i) training.sample(main, i, kMs, line);
  training.builder.facts.sampling = {250, 0, 30 * kMs, "", ""};
  const LoopReport report = training.report();
  EXPECT_TRUE(report.line_use.withheld);
  EXPECT_TRUE(report.lines.empty());
}

// In 19 of 20 runs the true share is in the interval.
TEST(Lines, IntervalsHoldTheTruth) {
  int held = 0;
  constexpr int kRuns = 60;
  for (unsigned run = 0; run < kRuns; ++run) {
    Training training;
    const WatchedThreadId main = of_main(training);
    const FrameId decode = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "decode");
    const FrameId other = training.builder.frame(FrameId::kNone, "/src/data.py", 12, "read");
    std::mt19937 random(run);
    for (int i = 0; i < training.steps; ++i) {
      for (int k = 0; k < 3; ++k)
        training.sample(main, i, (1 + 3 * k) * kMs, random() % 10 < 3 ? decode : other);
    }
    for (const LineShare& line : training.report().lines) {
      if (line.function == "decode") held += line.ci_low <= 0.3 && 0.3 <= line.ci_high ? 1 : 0;
    }
  }
  EXPECT_GE(held, kRuns * 9 / 10);
}

double standard_error(const LineShare& line) { return (line.ci_high - line.ci_low) / 2 / 1.96; }

// In 99 of 100 runs, however close the lines really are.
TEST(Lines, ALineThatLeadsByThreeStandardErrorsIsTheTopOne) {
  int leads = 0, wrong = 0;
  for (unsigned run = 0; run < 120; ++run) {
    Training training;
    const WatchedThreadId main = of_main(training);
    const FrameId first = training.builder.frame(FrameId::kNone, "/src/data.py", 41, "decode");
    const FrameId second = training.builder.frame(FrameId::kNone, "/src/data.py", 12, "read");
    const FrameId third = training.builder.frame(FrameId::kNone, "/src/data.py", 70, "augment");
    std::mt19937 random(run);
    const unsigned of_first = 36 + run % 10, of_second = 34;  // in a hundred
    for (int i = 0; i < training.steps; ++i) {
      for (int k = 0; k < 4; ++k) {
        const std::uint64_t drawn = random() % 100;
        training.sample(main, i, (1 + 2 * k) * kMs,
                        drawn < of_first               ? first
                        : drawn < of_first + of_second ? second
                                                       : third);
      }
    }
    const auto lines = lines_of(training.report(), LinePlace::kLoop, "input");
    const double lead = lines[0].share - lines[1].share;
    if (lead < 3 * std::hypot(standard_error(lines[0]), standard_error(lines[1]))) continue;
    ++leads;
    wrong += lines[0].function == "decode" ? 0 : 1;
  }
  EXPECT_GE(leads, 10) << "else nothing was tried";
  EXPECT_LE(wrong * 100, leads);
}

TEST(OwnCode, IsWhatIsNotInstalled) {
  for (const char* file : {"/src/train.py", "train.py", "<ipython-input-3-a1>", "<string>",
                           "/tmp/ipykernel_12/3.py", "/x/lib/model.py"})
    EXPECT_FALSE(is_library_file(file)) << file;
  for (const char* file :
       {"<frozen runpy>", "<__array_function__ internals>", kTorch,
        "/usr/lib/python3/dist-packages/numpy/x.py", "/usr/lib/python3.11/queue.py",
        "/opt/py/lib/python3.12/json/decoder.py"})
    EXPECT_TRUE(is_library_file(file)) << file;
}

TEST(OwnCode, PathsAreToldFromTheFolderOfTheRun) {
  EXPECT_EQ(display_file("/src/a/data.py", "/src"), "a/data.py");
  EXPECT_EQ(display_file("/srcs/data.py", "/src"), "/srcs/data.py");
  EXPECT_EQ(display_file("/src/data.py", ""), "/src/data.py");
  EXPECT_EQ(display_file("/venv/lib/python3.11/site-packages/PIL/Image.py", "/venv"),
            "PIL/Image.py");
  EXPECT_EQ(display_file("/usr/lib/python3.11/queue.py", ""), "python3.11/queue.py");
}

}  // namespace
}  // namespace stepscope::testing

// Why a run has no figures, from how its process ended.
#include "sweep/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace stepscope {
namespace {

using ::testing::HasSubstr;

Ended exited(std::int64_t code, std::string_view tail = "") {
  Ended ended;
  ended.exit_code = code;
  ended.error_tail = tail;
  return ended;
}

Ended killed(std::int64_t signal, std::string_view tail = "") {
  Ended ended;
  ended.signal = signal;
  ended.error_tail = tail;
  return ended;
}

TEST(Failures, AGoodEndIsNone) {
  EXPECT_EQ(failure_of(exited(0, "warning: out of memory soon")).outcome, SweepOutcome::kOk);
}

TEST(Failures, WhatProgramsSayWithoutMemory) {
  const std::string said[] = {
      "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
      "std::bad_alloc\n",
      "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to "
      "allocate 1 bytes",
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
      "MemoryError\n"};
  for (const std::string& tail : said) {
    EXPECT_EQ(failure_of(exited(1, tail)).outcome, SweepOutcome::kOutOfMemory) << tail;
    EXPECT_EQ(failure_of(killed(SIGABRT, tail)).outcome, SweepOutcome::kOutOfMemory) << tail;
  }
}

TEST(Failures, AKillIsForMemoryWhenTheKernelSaysSoOrLittleWasLeft) {
  Ended by_kernel = killed(SIGKILL);
  by_kernel.killed_for_memory = true;
  EXPECT_THAT(failure_of(by_kernel).cause,
              HasSubstr("killed by the kernel because memory ran out"));
  Ended with_most = killed(SIGKILL);
  with_most.memory_bytes = 10'000'000'000;
  with_most.peak_rss_bytes = 9'500'000'000;
  EXPECT_EQ(failure_of(with_most).outcome, SweepOutcome::kOutOfMemory);
  EXPECT_THAT(failure_of(with_most).cause, HasSubstr("it held 9.50 GB"));
  with_most.peak_rss_bytes = 1'000'000'000;
  EXPECT_EQ(failure_of(with_most).outcome, SweepOutcome::kCrashed);
  EXPECT_THAT(failure_of(with_most).cause, HasSubstr("SIGKILL (9)"));
}

TEST(Failures, ACrashIsToldWithWhatTheProgramSaidLast) {
  const Failure failure = failure_of(exited(2, "usage: x\nx: error: no such option\n\n"));
  EXPECT_EQ(failure.outcome, SweepOutcome::kCrashed);
  EXPECT_EQ(failure.cause, "exit code 2: x: error: no such option");
  EXPECT_EQ(failure_of(killed(SIGSEGV)).cause, "killed by SIGSEGV (11)");
}

TEST(Failures, ATimeLimitComesBeforeHowTheProgramTookIt) {
  Ended ended = killed(SIGTERM, "std::bad_alloc");
  ended.timed_out = true;
  ended.timeout_s = 2.5;
  EXPECT_EQ(failure_of(ended).outcome, SweepOutcome::kTimedOut);
  EXPECT_EQ(failure_of(ended).cause, "took longer than 2.5 s");
}

TEST(Failures, TheLastLineIsNeitherEmptyNorTheRecorders) {
  EXPECT_EQ(last_line("first\nsecond \r\n \n", 80), "second");
  EXPECT_EQ(last_line("real cause\nstepscope: no op hooks: …\n", 80), "real cause");
  EXPECT_EQ(last_line("  10%\r 20%\r", 80), " 20%");
  EXPECT_EQ(last_line("abcdef", 4), "abc…");
  EXPECT_EQ(last_line("", 4), "");
}

}  // namespace
}  // namespace stepscope

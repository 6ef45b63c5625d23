// `stepscope run` around programs that are no training at all: nothing about them may change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/binary.h"

namespace stepscope {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_program;
using testing::run_stepscope;

class RunTest : public ::testing::Test {
 protected:
  RunTest() : store_(::testing::TempDir() + "/wrap-" + std::to_string(getpid()) + ".db") {}
  ~RunTest() override {
    std::filesystem::remove(store_);
    std::filesystem::remove(store_ + ".old");
  }
  Outcome wrap(std::vector<std::string> program, std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"run", "-o", store_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), program.begin(), program.end());
    return run_stepscope(arguments);
  }
  Outcome shell(const std::string& script) const { return wrap({"sh", "-c", script}, {"--quiet"}); }

  std::string store_;
};

TEST_F(RunTest, OutputAndExitCodeAreTheProgramsOwn) {
  const Outcome outcome = shell("echo to stdout; echo to stderr >&2; exit 7");
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.out, "to stdout\n");
  EXPECT_EQ(outcome.err, "to stderr\n");
}

TEST_F(RunTest, ASignalDeathIsToldAsShellsDo) {
  EXPECT_EQ(shell("kill -KILL $$").exit_code, 128 + 9);
  EXPECT_EQ(shell("kill -SEGV $$").exit_code, 128 + 11);
}

TEST_F(RunTest, ArgumentsAfterTheDashesAreTheProgramsOwn) {
  EXPECT_EQ(wrap({"echo", "-o", "--help", "a b"}, {"--quiet"}).out, "-o --help a b\n");
}

TEST_F(RunTest, NoDescriptorOfOursReachesTheProgram) {
  const std::string count = "ls /proc/self/fd | wc -l";
  EXPECT_EQ(shell(count).out, run_program({"sh", "-c", count}).out);
}

TEST_F(RunTest, TheUsersPreloadComesFirst) {
  setenv("LD_PRELOAD", "libm.so.6", 1);
  const std::string preload = shell("echo $LD_PRELOAD").out;
  unsetenv("LD_PRELOAD");
  EXPECT_TRUE(preload.starts_with("libm.so.6:")) << preload;
  EXPECT_THAT(preload, HasSubstr("libstepscope.so"));
}

// Sent by a process of its own: what the program itself sends us does not come back to it.
TEST_F(RunTest, ASignalSentToUsReachesTheProgramOnce) {
  const Outcome outcome = shell(
      "trap 'echo got it' TERM; sh -c \"kill -TERM $PPID\"; i=0; while [ $i -lt 20 ]; do sleep "
      "0.05; "
      "i=$((i+1)); done");
  EXPECT_EQ(outcome.out, "got it\n");
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(RunTest, AProgramWithoutLibtorchIsToldSo) {
  const Outcome outcome = wrap({"true"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("never loaded libtorch"));
}

TEST_F(RunTest, AMissingProgramLeavesTheStoreAlone) {
  std::ofstream(store_) << "mine";
  const Outcome outcome = wrap({"no-such-program"});
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_THAT(outcome.err, HasSubstr("no-such-program: no such program"));
  EXPECT_EQ(std::filesystem::file_size(store_), 4U);
}

TEST_F(RunTest, WhatCannotBeExecutedIsToldSo) {
  const Outcome outcome = wrap({"/etc/passwd"});
  EXPECT_EQ(outcome.exit_code, 126);
  EXPECT_THAT(outcome.err, HasSubstr("cannot be executed"));
}

TEST_F(RunTest, ABadScheduleIsRefusedBeforeAnythingRuns) {
  const Outcome outcome = wrap({"echo", "ran"}, {"--schedule", "wait=1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("active is missing"));
}

TEST_F(RunTest, NobodyToControl) {
  ASSERT_EQ(shell("true").exit_code, 0);
  const Outcome outcome = run_stepscope({"control", store_, "status"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("no `stepscope run` is recording"));
}

}  // namespace
}  // namespace stepscope

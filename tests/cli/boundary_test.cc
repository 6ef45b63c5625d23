// The boundary of main(): what a verb throws ends as one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An address space too small for the store
// stands for a machine without memory.
Outcome run_in_shell(const std::string& script, const std::string& store) {
  return run_program({"/bin/sh", "-c", script, STEPSCOPE_BINARY, store});
}

TEST(CliBoundary, ATextThatNobodyGetsIsNoSuccess) {
  for (const char* option : {"--version", "--man", "analyze --help"}) {
    for (const char* where : {">/dev/full", ">&-"}) {
      const Outcome outcome = run_in_shell("\"$0\" " + std::string(option) + " " + where, "");
      EXPECT_EQ(outcome.exit_code, 3) << option << where;
      EXPECT_EQ(outcome.err, "stepscope: standard output: cannot be written\n") << option << where;
    }
  }
}

// Nothing but the store is lost, and that is said.
TEST(CliBoundary, ALimitOfTheFileSizeKillsNoVerb) {
  const TempDir dir;
  make_store(dir / "run.db", {.steps = 300, .ops_per_phase = 1});
  const std::string store = dir / "run.db";
  const Outcome outcome = run_in_shell("ulimit -f 8; exec \"$0\" analyze \"$1\"", store);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("INPUT-BOUND"));
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("stepscope analyze: the results are printed, not stored: "));
}

TEST(CliBoundary, NotANumberIsOutsideEveryRange) {
  const TempDir dir;
  make_store(dir / "run.db", {.steps = 20});
  const std::string store = dir / "run.db";
  for (const char* wrong :
       {"analyze --price-per-hour nan", "analyze --price-per-hour inf", "top --interval nan",
        "analyze --price-per-hour 1 --samples-per-step nan", "sweep --timeout nan"}) {
    const Outcome outcome = run_in_shell("\"$0\" " + std::string(wrong) + " \"$1\"", store);
    EXPECT_EQ(outcome.exit_code, 2) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("is not a number from")) << wrong;
  }
}

TEST(CliBoundary, WrongUsageIsOneLineThatSaysWhereToLook) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } all[] = {
      {{}, "stepscope: no verb; `stepscope --help` lists the verbs\n"},
      {{"died", "run.db"}, "stepscope: no verb \"died\"; `stepscope --help` lists the verbs\n"},
      {{"anlyze", "run.db"},
       "stepscope: no verb \"anlyze\"; did you mean `analyze`? `stepscope --help` lists the "
       "verbs\n"},
      {{"--loud"}, "stepscope: --loud: not an option; see `stepscope --help`\n"},
      {{"top", "run.db", "--loud"},
       "stepscope top: the following argument was not expected: --loud; see `stepscope top "
       "--help`\n"},
      {{"run", "-o", "run.db", "--loud", "--", "true", "-x"},
       "stepscope run: the following argument was not expected: --loud; see `stepscope run "
       "--help`\n"},
      {{"analyze", "--loud", "--soft=1", "run.db"},
       "stepscope analyze: the following arguments were not expected: --loud --soft=1; see "
       "`stepscope analyze --help`\n"},
      {{"analyze", "run.db", "other.db"},
       "stepscope analyze: the following argument was not expected: other.db; see `stepscope "
       "analyze --help`\n"},
      {{"export", "run.db"},
       "stepscope export: --output is required; see `stepscope export --help`\n"},
      {{"run", "--lines-rate", "1e9", "--", "true"},
       "stepscope run: --lines-rate: Value 1e9 not in range 1 to 1000; see `stepscope run "
       "--help`\n"},
  };
  for (const auto& [words, says] : all) {
    const Outcome outcome = run_stepscope(words);
    EXPECT_EQ(outcome.exit_code, 2) << says;
    EXPECT_EQ(outcome.err, says);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(CliBoundary, MemoryThatRunsOutIsALine) {
  const TempDir dir;
  make_store(dir / "run.db", {.steps = 8000, .ops_per_phase = 1});
  const std::string store = dir / "run.db";
  bool refused = false;
  for (int megabytes = 16; megabytes <= 1024; megabytes += 4) {
    const Outcome outcome =
        run_program({"/bin/sh", "-c",
                     "ulimit -c 0; ulimit -v " + std::to_string(megabytes * 1024) +
                         "; exec \"$0\" analyze \"$1\" --no-write",
                     STEPSCOPE_BINARY, store});
    if (outcome.exit_code == 0) break;
    if (outcome.exit_code == 127) continue;  // the loader itself found no room
    refused = true;
    EXPECT_EQ(outcome.exit_code, 3) << megabytes << " MB: " << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1u) << megabytes << " MB: " << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("stepscope analyze: "));
  }
  EXPECT_TRUE(refused) << "no limit was small enough";
}

}  // namespace
}  // namespace stepscope::testing

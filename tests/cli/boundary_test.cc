// The boundary of main(): what a verb throws ends as one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::StartsWith;

// An address space too small for the store
// stands for a machine without memory.
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

// Stores from elsewhere, as a script meets them: each verb says in one line what is wrong with
// which file, exits with 3, and leaves the file as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/binary.h"
#include "tests/store/testing/hostile_stores.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliHostileStore : public ::testing::TestWithParam<HostileStore> {
 protected:
  void SetUp() override { make_hostile_store(store_, GetParam().sql); }

  void expect_refused(const std::vector<std::string>& arguments) {
    const std::string before = contents(store_);
    const Outcome outcome = run_stepscope(arguments);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("stepscope " + arguments[0] + ": "),
                                   HasSubstr(store_), HasSubstr(GetParam().says)));
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(contents(store_) == before) << "the file was changed";
    EXPECT_FALSE(std::filesystem::exists(out_));
  }

  const TempDir dir_;
  const std::string store_ = dir_ / "run.db";
  const std::string out_ = dir_ / "out";
};

TEST_P(CliHostileStore, IsRefusedByEachVerb) {
  expect_refused({"analyze", store_, "--json"});
  expect_refused({"what-if", store_, "--input", "prefetched"});
  expect_refused({"compare", store_, store_});
  expect_refused({"report", store_, "-o", out_});
  expect_refused({"view", store_, "--no-browser"});
  expect_refused({"top", store_, "--once"});
}

INSTANTIATE_TEST_SUITE_P(All, CliHostileStore, ::testing::ValuesIn(hostile_stores()),
                         [](const auto& test) { return std::string(test.param.name); });

// Export reads the stored analysis, and draws what is there: a gap is nothing to it.
TEST(CliExportOfAHostileStore, IsRefusedWhereItIsRead) {
  for (const HostileStore& hostile : hostile_stores()) {
    const std::string name = hostile.name;
    const bool drawn = name == "kernel_missing";
    const TempDir dir;
    make_hostile_store(dir / "run.db", hostile.sql);
    const std::string before = contents(dir / "run.db");
    const Outcome outcome = run_stepscope({"export", dir / "run.db", "-o", dir / "trace.json"});
    EXPECT_TRUE(outcome.exit_code == 3 || (drawn && outcome.exit_code == 0)) << name;
    if (outcome.exit_code == 3) {
      EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr((dir / "run.db").string()));
      EXPECT_FALSE(std::filesystem::exists(dir / "trace.json"));
    }
    EXPECT_TRUE(contents(dir / "run.db") == before) << name;
  }
}

}  // namespace
}  // namespace stepscope::testing

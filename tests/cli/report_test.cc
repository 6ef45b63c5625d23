// `stepscope report` as a script meets it: exit codes, one clear line for what is wrong, and
// nothing lost that was there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

Json data_of(const std::string& page, const std::string& id) {
  const std::string opening = "id=\"" + id + "\">";
  const std::size_t begin = page.find(opening) + opening.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

class CliReport : public ::testing::Test {
 protected:
  void SetUp() override { make_store(store_, {.steps = 30}); }

  void expect_failure(const std::vector<std::string>& arguments, int exit_code,
                      const std::string& what) {
    std::ofstream(out_) << "earlier";
    const Outcome outcome = run_stepscope(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("stepscope report: "));
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    EXPECT_EQ(contents(out_), "earlier");
  }

  const TempDir dir_;
  const std::string store_ = dir_ / "run.db";
  const std::string out_ = dir_ / "report.html";
};

TEST_F(CliReport, HoldsWhatAnalyzeSays) {
  const Outcome outcome = run_stepscope({"report", store_, "-o", out_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("report.html: "));
  const Outcome analysis = run_stepscope({"analyze", store_, "--json", "--top", "100"});
  EXPECT_EQ(data_of(contents(out_), "analysis"), Json::parse(analysis.out));
}

TEST_F(CliReport, WritesToStandardOutput) {
  const Outcome outcome = run_stepscope({"report", store_, "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("<!DOCTYPE html>"));
}

TEST_F(CliReport, LeavesTheStoreAsItIs) {
  const std::string before = contents(store_);
  ASSERT_EQ(run_stepscope({"report", store_, "-o", out_}).exit_code, 0);
  EXPECT_TRUE(contents(store_) == before);
}

TEST_F(CliReport, ComparesWithABaseline) {
  const std::string baseline = dir_ / "before.db";
  make_store(baseline, {.steps = 30, .input = Duration(9'000'000)});
  const Outcome outcome = run_stepscope({"report", store_, "--baseline", baseline, "-o", out_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json comparison = data_of(contents(out_), "comparison");
  EXPECT_EQ(comparison["change"], "faster");
  EXPECT_EQ(comparison["a"]["path"], baseline);
}

TEST_F(CliReport, ReportsARunWithoutSteps) {
  const std::string empty = dir_ / "empty.db";
  make_store(empty, {.steps = 0, .epoch_end = false});
  const Outcome outcome = run_stepscope({"report", empty, "-o", out_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(data_of(contents(out_), "analysis")["verdict"]["kind"], "no-steps");
  expect_failure({"report", store_, "--baseline", empty, "-o", out_}, 3, "empty.db");
}

TEST_F(CliReport, SaysWhatIsWrong) {
  expect_failure({"report", dir_ / "none.db", "-o", out_}, 3, "none.db");
  expect_failure({"report", store_, "--baseline", dir_ / "none.db", "-o", out_}, 3, "none.db");
  const Outcome folder = run_stepscope({"report", store_, "-o", dir_.path().string()});
  EXPECT_EQ(folder.exit_code, 3);
  EXPECT_EQ(lines_in(folder.err), 1U) << folder.err;
}

}  // namespace
}  // namespace stepscope::testing

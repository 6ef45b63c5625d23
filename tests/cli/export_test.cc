// `stepscope export` as a script meets it: exit codes, one clear line for what is wrong, and
// nothing lost that was there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "store/trace_writer.h"
#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::size_t slices_of(const Json& trace, const std::string& category) {
  return static_cast<std::size_t>(std::ranges::count_if(
      trace["traceEvents"], [&](const Json& e) { return e["ph"] == "X" && e["cat"] == category; }));
}

class CliExport : public ::testing::Test {
 protected:
  void SetUp() override { make_store(store_, run_, /*analysed=*/true); }

  // One line, that of the verb, and this exit code; and the earlier output stays.
  void expect_failure(const std::vector<std::string>& arguments, int exit_code,
                      const std::string& what) {
    std::ofstream(out_) << "earlier";
    const Outcome outcome = run_stepscope(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("stepscope export: "));
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(contents(out_), "earlier");
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
    }
  }

  const TempDir dir_;
  const SyntheticRun run_{};
  const std::string store_ = dir_ / "run.db";
  const std::string out_ = dir_ / "trace.json";
};

TEST_F(CliExport, AnImportOfTheTraceSaysWhereItCameFrom) {
  ASSERT_EQ(run_stepscope({"export", store_, "-o", out_}).exit_code, 0);
  const Outcome outcome = run_stepscope({"import", out_, "-o", dir_ / "again.db"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("stepscope's own export"));
}

TEST_F(CliExport, WritesATraceAndSaysSo) {
  const Outcome outcome = run_stepscope({"export", store_, "-o", out_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("trace.json: " + std::to_string(run_.op_count()) + " ops"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(slices_of(Json::parse(contents(out_)), "step"), 20u);
}

TEST_F(CliExport, StandardOutputIsTheTraceAndNothingElse) {
  const Outcome outcome = run_stepscope({"export", store_, "-o", "-", "--steps", "3-4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(slices_of(Json::parse(outcome.out), "step"), 2u);
}

TEST_F(CliExport, CompressesByNameOrWhenAsked) {
  const std::string gzip_magic = "\x1f\x8b";
  const std::string by_name = dir_ / "t.json.gz";
  ASSERT_EQ(run_stepscope({"export", store_, "-o", by_name, "--level", "3"}).exit_code, 0);
  EXPECT_THAT(contents(by_name), StartsWith(gzip_magic));
  ASSERT_EQ(run_stepscope({"export", store_, "-o", out_, "--gzip"}).exit_code, 0);
  EXPECT_THAT(contents(out_), StartsWith(gzip_magic));
}

TEST_F(CliExport, ARunThatWasNeverAnalysedHasItsStepsAllTheSame) {
  const std::string bare = dir_ / "bare.db";
  make_store(bare, run_);
  const std::string before = contents(bare);
  ASSERT_EQ(run_stepscope({"export", bare, "-o", out_}).exit_code, 0);
  const Json trace = Json::parse(contents(out_));
  EXPECT_EQ(slices_of(trace, "step"), 20u);
  EXPECT_EQ(trace["otherData"]["verdicts"][0]["kind"], "input-bound");
  EXPECT_EQ(contents(bare), before);
}

TEST_F(CliExport, WrongUsageExitsWith2) {
  expect_failure({"export", store_, "-o", out_, "--steps", "9-3"}, 2, "--steps 9-3");
  expect_failure({"export", store_, "-o", out_, "--steps", "x"}, 2, "--steps x");
  expect_failure({"export", store_, "-o", out_, "--steps", "500-520"}, 2, "which has steps 1-20");
  EXPECT_EQ(run_stepscope({"export", store_}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"export", store_, "-o", out_, "--level", "9"}).exit_code, 2);
}

TEST_F(CliExport, ARunWithoutAStepHasNoStepsToCut) {
  SyntheticRun idle;
  idle.steps = 0;
  const std::string path = dir_ / "idle.db";
  make_store(path, idle);
  expect_failure({"export", path, "-o", out_, "--steps", "1-2"}, 2, "no step was found");
}

TEST_F(CliExport, BadStoresExitWith3) {
  expect_failure({"export", dir_ / "none.db", "-o", out_}, 3, "none.db");
  const std::string text = dir_ / "text.db";
  std::ofstream(text) << "not a store";
  expect_failure({"export", text, "-o", out_}, 3, "text.db");

  const std::string empty = dir_ / "empty.db";
  ASSERT_TRUE((*TraceWriter::create(empty))->finish().ok());
  expect_failure({"export", empty, "-o", out_}, 3, "contains no events");

  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(store_.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "PRAGMA user_version = 999", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  expect_failure({"export", store_, "-o", out_}, 3, "update Stepscope");
}

TEST_F(CliExport, OutputsThatCannotBeWrittenExitWith3) {
  expect_failure({"export", store_, "-o", "/no/such/folder/t.json"}, 3, "/no/such/folder/t.json");
  expect_failure({"export", store_, "-o", "/dev/full"}, 3, "No space left on device");
  expect_failure({"export", store_, "-o", dir_.path()}, 3, "is a folder");
  const std::string before = contents(store_);
  expect_failure({"export", store_, "-o", store_}, 3, "is a database");
  EXPECT_EQ(contents(store_), before);
}

}  // namespace
}  // namespace stepscope::testing

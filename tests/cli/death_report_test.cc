// What `stepscope analyze` says of a run whose process died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "store/sqlite.h"
#include "store/trace_writer.h"
#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class DeathReport : public ::testing::Test {
 protected:
  std::string make(const SyntheticRun& run) {
    make_store(folder_ / "run.db", run);
    return (folder_ / "run.db").string();
  }

  TempDir folder_;
};

TEST_F(DeathReport, ThePageBeginsWithHowItDied) {
  const std::string store = make({.steps = 30, .killed_by = 9, .samples = true});
  const Outcome outcome = run_stepscope({"analyze", store});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              HasSubstr("\n  Process 4242 (train) was killed by SIGKILL (9) in step 31, in "
                        "aten::addmm on thread train; it held\n  1.35 GB, growing 12.0 MB a "
                        "step.\n\n  HIGHLY INPUT-BOUND"));
}

TEST_F(DeathReport, MemoryThatGrowsIsReportedWithoutADeathToo) {
  const std::string alive = make({.steps = 30, .samples = true});
  EXPECT_THAT(run_stepscope({"analyze", alive}).out,
              HasSubstr("\n  memory    grows by 12.0 MB a step: "));
}

TEST_F(DeathReport, TheGrowthOfMemoryIsReportedOnce) {
  const std::string store = make({.steps = 30, .killed_by = 9, .samples = true});
  EXPECT_THAT(run_stepscope({"analyze", store}).out, Not(HasSubstr("\n  memory ")));
}

TEST_F(DeathReport, JsonKeepsItsContract) {
  const std::string store = make({.steps = 30, .rank = 1, .killed_by = 11, .samples = true});
  const Outcome outcome = run_stepscope({"analyze", store, "--json"});
  const Json process = Json::parse(outcome.out)["run"]["processes"][0];
  EXPECT_EQ(process["rank"], 1);
  EXPECT_EQ(process["exit"], nullptr);
  EXPECT_EQ(process["died"]["how"], "SIGSEGV (11)");
  EXPECT_EQ(process["died"]["signal"], 11);
  EXPECT_EQ(process["died"]["step"], 31);
  EXPECT_EQ(process["died"]["op"], "aten::addmm");
  EXPECT_EQ(process["died"]["thread"], "train");
  EXPECT_EQ(process["died"]["out_of_memory"], false);
  EXPECT_EQ(process["rss_bytes"], 1'348'000'000);
  EXPECT_EQ(process["rss_growth_per_step"], 12'000'000);
  EXPECT_EQ(Json::parse(outcome.out)["loops"][0]["rank"], 1);
}

// As of a process that is not a child of the recorder.
TEST_F(DeathReport, InJsonAnUnknownSignalHasNoName) {
  const std::string store = make({.steps = 30, .killed_by = 9, .samples = true});
  auto database = Database::open(store, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->exec("UPDATE process_end SET code = 0").ok());
  const Json json = Json::parse(run_stepscope({"analyze", store, "--json"}).out);
  EXPECT_EQ(json["run"]["processes"][0]["died"]["how"], "killed");
  EXPECT_EQ(json["run"]["processes"][0]["died"]["signal"], nullptr);
}

// What could not be had is given back on the way out; that it was held is the news.
TEST_F(DeathReport, TheMostItHeldIsToldWhereTheEndIsFarBelow) {
  const std::string store = make({.steps = 30, .killed_by = 9, .samples = true});
  {
    auto writer = TraceWriter::open(store);
    ASSERT_TRUE(writer.ok());
    const auto phases = open_store(store)->phases();
    ASSERT_TRUE(phases.ok());
    const SessionTime end = phases->back().start + phases->back().dur;
    const std::vector<Sample> last{
        {ProcessId{1}, (*writer)->intern("rss_bytes"), end + Duration(1), 148'000'000}};
    ASSERT_TRUE((*writer)->add(last).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  EXPECT_THAT(run_stepscope({"analyze", store}).out, HasSubstr("148 MB (peak 1.35 GB)"));
  const Json document = Json::parse(run_stepscope({"analyze", store, "--json"}).out);
  EXPECT_EQ(document["run"]["processes"][0]["rss_bytes"], 148'000'000);
  EXPECT_EQ(document["run"]["processes"][0]["rss_peak_bytes"], 1'348'000'000);
}

// Alive or dead: at their peak and at the end, each by the phase that made them.
TEST_F(DeathReport, WhatTheTensorsHeldIsToldByWhatMadeIt) {
  const std::string store = make({.steps = 30});
  SessionTime middle{};
  {
    auto writer = TraceWriter::open(store);
    ASSERT_TRUE(writer.ok());
    const auto sample = [&](const char* name, SessionTime at, std::int64_t value) {
      ASSERT_TRUE((*writer)
                      ->add(std::vector<Sample>{{ProcessId{1}, (*writer)->intern(name), at, value}})
                      .ok());
    };
    const auto phases = open_store(store)->phases();
    ASSERT_TRUE(phases.ok());
    middle = (*phases)[phases->size() / 2].start;
    const SessionTime end = phases->back().start;
    sample("cpu_tensor_bytes", middle, 700);
    sample("cpu_tensor_bytes_other", middle, 200);
    sample("cpu_tensor_bytes_backward", middle, 500);
    sample("cpu_tensor_bytes", end, 300);
    sample("cpu_tensor_bytes_other", end, 300);
    sample("cpu_tensor_bytes_backward", end, 0);
    ASSERT_TRUE((*writer)->finish().ok());
  }
  const Json document = Json::parse(run_stepscope({"analyze", store, "--json"}).out);
  const Json tensors = document["run"]["processes"][0]["tensors"];
  EXPECT_EQ(tensors["peak"]["bytes"], 700);
  EXPECT_EQ(tensors["peak"]["at_ns"], to_ns(middle));
  EXPECT_EQ(
      tensors["peak"]["by"],
      Json::parse(R"({"other": 200, "input": 0, "forward": 0, "backward": 500, "optimizer": 0})"));
  EXPECT_EQ(tensors["last"]["bytes"], 300);
  EXPECT_EQ(tensors["last"]["by"]["other"], 300);
  const std::string step = tensors["peak"]["step"].dump();
  EXPECT_THAT(
      run_stepscope({"analyze", store}).out,
      HasSubstr("  tensors   at most 700 B, in step " + step + ": backward 500 B, other 200 B\n"));
}

TEST_F(DeathReport, ARunThatEndedWellDidNotDie) {
  const std::string store = make({.steps = 30});
  {
    auto writer = TraceWriter::open(store);
    ASSERT_TRUE(writer.ok());
    const ProcessEnd end{ProcessId{1}, EndKind::kExit, 0, session_time(9), 30, false};
    ASSERT_TRUE((*writer)->add(end).ok());
  }
  const Json process =
      Json::parse(run_stepscope({"analyze", store, "--json"}).out)["run"]["processes"][0];
  EXPECT_EQ(process["exit"], 0);
  EXPECT_EQ(process["died"], nullptr);
  EXPECT_EQ(process["rss_bytes"], nullptr);
  EXPECT_EQ(process["tensors"], nullptr);
}

TEST_F(DeathReport, ARunWithoutAStepStillSaysHowItDied) {
  const std::string store = make({.steps = 0, .epoch_end = false, .killed_by = 6});
  const Outcome page = run_stepscope({"analyze", store});
  EXPECT_EQ(page.exit_code, 3);
  EXPECT_THAT(page.out, HasSubstr("was killed by SIGABRT (6)"));
  EXPECT_THAT(page.err, HasSubstr("was killed by SIGABRT (6)"));
  const Outcome json = run_stepscope({"analyze", store, "--json"});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(Json::parse(json.out)["run"]["processes"][0]["died"]["op"], "aten::addmm");
}

TEST_F(DeathReport, TheStoreKeepsItAsEvidence) {
  const std::string store = make({.steps = 30, .killed_by = 9});
  ASSERT_EQ(run_stepscope({"analyze", store}).exit_code, 0);
  const auto analysis = open_store(store)->analysis();
  ASSERT_TRUE(analysis.ok());
  const Evidence& last = analysis->verdicts.at(0).evidence.back();
  EXPECT_THAT(last.statement, HasSubstr("was killed by SIGKILL (9)"));
  EXPECT_THAT(last.query, HasSubstr("run_end"));
}

}  // namespace
}  // namespace stepscope::testing

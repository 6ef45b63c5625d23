// `stepscope analyze` as a script meets it: exit codes, one clear line for what is wrong, the page,
// the JSON contract, and what is left in the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "present/terminal_text.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/cli/binary.h"
#include "tests/source_folder.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Runs one statement and returns the first column of the first row; ADD_FAILURE when it fails.
double first_value(const std::filesystem::path& store, const std::string& query) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  double value = -1;
  if (sqlite3_open_v2(store.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK ||
      sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    ADD_FAILURE() << query << ": " << sqlite3_errmsg(database);
  } else if (const int row = sqlite3_step(statement); row == SQLITE_ROW) {
    value = sqlite3_column_double(statement, 0);
  } else if (row != SQLITE_DONE) {
    ADD_FAILURE() << query << ": " << sqlite3_errmsg(database);
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return value;
}

class AnalyzeTest : public ::testing::Test {
 protected:
  std::string make(const char* name, const SyntheticRun& run = {}) {
    make_store(folder_ / name, run);
    return (folder_ / name).string();
  }

  std::string make_empty(const char* name) {
    auto writer = TraceWriter::create(folder_ / name);
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE((*writer)->finish().ok());
    return (folder_ / name).string();
  }

  TempDir folder_;
};

// Exit 3, nothing on standard output, one line on standard error that names the file and `says`.
void expect_refused(const Outcome& outcome, const std::string& path, const std::string& says) {
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("stepscope analyze: "));
  EXPECT_THAT(outcome.err, HasSubstr(path));
  EXPECT_THAT(outcome.err, HasSubstr(says));
}

TEST_F(AnalyzeTest, PageIsAsExpected) {
  SyntheticRun run;
  run.steps = 40;
  const std::string store = make("run.db", run);
  const Outcome outcome = run_stepscope({"analyze", store});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const auto golden = source_folder() / "tests/cli/golden/analyze.txt";
  EXPECT_EQ(replaced(outcome.out, store, "run.db"), contents(golden));
}

TEST_F(AnalyzeTest, NoLineOfThePageIsWiderThan100) {
  const std::string store = (folder_ / "wide.db").string();
  {
    auto writer = TraceWriter::create(store);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(record(SyntheticRun{}, **writer).ok());
    const StringId name = (*writer)->intern(std::string(300, 'x') + "\n\033[31m" + "äöü€");
    std::vector<Phase> scopes;
    for (int i = 0; i < 20; ++i) {
      const SessionTime end = SyntheticRun{}.step_start(i) + SyntheticRun{}.step_dur();
      scopes.push_back({kLoopThread, PhaseKind::kScope, name, end - Duration(40'000),
                        Duration(30'000), Duration(0)});
    }
    ASSERT_TRUE((*writer)->add(scopes).ok());
    Op op;
    op.thread = kLoopThread;
    op.name = name;
    op.start = SyntheticRun{}.step_start(19) + Duration(1000);
    op.dur = op.self = Duration(2'000'000);
    ASSERT_TRUE((*writer)->add(op).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  const Outcome outcome = run_stepscope({"analyze", store, "--top", "50"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("xxx"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\033")))
      << "control characters of a name reach the terminal";
  std::istringstream page(replaced(outcome.out, store, "run.db"));
  for (std::string line; std::getline(page, line);) EXPECT_LE(width_of(line), 100u) << line;
}

TEST_F(AnalyzeTest, APriceSaysWhatAStepAndASampleCost) {
  const std::string store = make("run.db");
  const Outcome outcome = run_stepscope(
      {"analyze", store, "--json", "--price-per-hour", "7.2", "--samples-per-step", "8"});
  ASSERT_EQ(outcome.exit_code, 0);
  const Json document = Json::parse(outcome.out);
  const double step_s = document["steps"]["wall_ns"]["mean"].get<double>() / 1e9;
  EXPECT_DOUBLE_EQ(document["cost"]["per_step"].get<double>(), 0.002 * step_s);
  EXPECT_DOUBLE_EQ(document["cost"]["per_sample"].get<double>(), 0.002 * step_s / 8);
  const Outcome page =
      run_stepscope({"analyze", store, "--price-per-hour", "7.2", "--samples-per-step", "8"});
  EXPECT_THAT(page.out, HasSubstr("for a million samples, at 7.2 an hour and 8 samples a step"));

  const Outcome unpriced = run_stepscope({"analyze", store, "--json"});
  EXPECT_TRUE(Json::parse(unpriced.out)["cost"].is_null());
  EXPECT_EQ(run_stepscope({"analyze", store, "--samples-per-step", "8"}).exit_code, 2);
}

TEST_F(AnalyzeTest, TheRunIsCalledAfterItsScript) {
  const std::string store = make("run.db");
  {
    auto writer = TraceWriter::open(store);
    ASSERT_TRUE(writer.ok());
    const std::string commit = "0123456789" + std::string(30, 'a');
    const std::pair<const char*, std::string> facts[] = {
        {"program", "train.py"},    {"arguments", "python\ntrain.py\n--text\na\\nb\n"},
        {"working_folder", "/job"}, {"environment", "OMP_NUM_THREADS=4\nRANK=0\nodd\n"},
        {"git_root", "/job"},       {"git_commit", commit},
        {"git_dirty", "yes"},       {"python_version", "3.11.2"},
        {"numpy_version", "2.1.3"}};
    for (const auto& [key, value] : facts) ASSERT_TRUE((*writer)->set_meta(key, value).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  const Outcome page = run_stepscope({"analyze", store});
  EXPECT_THAT(page.out,
              ::testing::StartsWith("train.py (0123456, modified) · steps 2–20 of 20 · "));
  const Json run = Json::parse(run_stepscope({"analyze", store, "--json"}).out)["run"];
  EXPECT_EQ(run["name"], "train.py");
  EXPECT_EQ(run["arguments"], Json({"python", "train.py", "--text", "a\nb"}));
  EXPECT_EQ(run["working_folder"], "/job");
  EXPECT_EQ(run["environment"], (Json{{"OMP_NUM_THREADS", "4"}, {"RANK", "0"}}));
  EXPECT_EQ(run["git"]["root"], "/job");
  EXPECT_EQ(run["git"]["commit"].get<std::string>().size(), 40U);
  EXPECT_EQ(run["git"]["dirty"], true);
  EXPECT_EQ(run["python_version"], "3.11.2");
  EXPECT_EQ(run["numpy_version"], "2.1.3");
}

// As of an import, and of a store of an earlier version.
TEST_F(AnalyzeTest, ARunThatDoesNotSayIsCalledAfterItsProcess) {
  const std::string store = make("run.db");
  EXPECT_THAT(run_stepscope({"analyze", store}).out, ::testing::StartsWith("train · "));
  const Json run = Json::parse(run_stepscope({"analyze", store, "--json"}).out)["run"];
  EXPECT_TRUE(run["name"].is_null());
  EXPECT_TRUE(run["git"].is_null());
  EXPECT_EQ(run["arguments"], Json::array());
  EXPECT_EQ(run["environment"], Json::object());
}

TEST_F(AnalyzeTest, JsonKeepsItsContract) {
  const Outcome outcome = run_stepscope({"analyze", make("run.db"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0);
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "stepscope.analysis/1");
  for (const char* key :
       {"name", "command", "arguments", "working_folder", "git", "environment", "duration_ns",
        "torch_version", "python_version", "numpy_version", "hosts", "processes"}) {
    EXPECT_TRUE(document["run"].contains(key)) << key;
  }
  for (const char* key : {"pid", "rank", "name", "exit", "died"}) {
    EXPECT_TRUE(document["run"]["processes"][0].contains(key)) << key;
  }
  for (const char* key : {"events", "kernels", "samples"})
    EXPECT_TRUE(document["losses"].contains(key)) << key;
  ASSERT_EQ(document["loops"].size(), 1u);
  for (const Json& loop : {document, document["loops"][0]}) {
    EXPECT_EQ(loop["steps"]["count"], 20);
    EXPECT_EQ(loop["steps"]["marker"], "loader");
    for (const char* key : {"mean", "p50", "p90", "min", "max"})
      EXPECT_TRUE(loop["steps"]["wall_ns"].contains(key));
    for (const char* table : {"shares", "hidden"}) {
      for (const char* key : {"compute", "input", "copy", "communication", "sync", "launch",
                              "allocation", "host", "other"}) {
        EXPECT_TRUE(loop[table].contains(key)) << table << "." << key;
      }
    }
    for (const char* key : {"input", "forward", "backward", "optimizer", "other"}) {
      EXPECT_TRUE(loop["phases"].contains(key)) << key;
    }
    for (const char* key : {"waits", "blocked_share", "busy_share", "loader", "inferred"}) {
      EXPECT_TRUE(loop["input"].contains(key)) << key;
    }
    for (const char* key : {"kind", "degree", "share", "ci95", "confidence", "why"}) {
      EXPECT_TRUE(loop["verdict"].contains(key)) << key;
    }
    for (const char* key : {"steps", "mean_ns", "share", "label", "period", "first", "cause",
                            "extra_ns", "shares", "verdict"}) {
      EXPECT_TRUE(loop["populations"][0].contains(key)) << key;
    }
    EXPECT_TRUE(loop["drift"].is_null());
    EXPECT_TRUE(loop["memory"].contains("pressure_share"));
    for (const char* key : {"rule", "title", "why", "predicted_step_ns", "saves_ns", "evidence"}) {
      EXPECT_TRUE(loop["advice"][0].contains(key)) << key;
    }
  }
}

TEST_F(AnalyzeTest, JsonFiguresAgreeWithTheRunAndAmongThemselves) {
  const SyntheticRun run;
  const Json document = Json::parse(run_stepscope({"analyze", make("run.db", run), "--json"}).out);
  double sum = 0;
  for (const auto& [category, share] : document["shares"].items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1.0, 1e-12);
  const auto mean = document["steps"]["wall_ns"]["mean"].get<double>();
  double phases = 0;
  for (const auto& [phase, ns] : document["phases"].items()) phases += ns.get<double>();
  EXPECT_NEAR(phases, mean, 5);
  EXPECT_EQ(document["phases"]["input"], to_ns(run.input));
  EXPECT_EQ(document["phases"]["backward"], to_ns(run.backward));
  EXPECT_NEAR(document["shares"]["input"].get<double>(),
              static_cast<double>(to_ns(run.input)) / mean, 1e-6);
  EXPECT_EQ(document["verdict"]["kind"], "input-bound");
  EXPECT_EQ(document["verdict"]["degree"], "highly");
  EXPECT_LE(document["verdict"]["ci95"][0], document["verdict"]["share"]);
  EXPECT_GE(document["verdict"]["ci95"][1], document["verdict"]["share"]);
  for (const Json& advice : document["advice"]) {
    EXPECT_NEAR(advice["predicted_step_ns"].get<double>() + advice["saves_ns"].get<double>(), mean,
                1);
  }
}

TEST_F(AnalyzeTest, ComputeBoundRunIsCalledThat) {
  SyntheticRun run;
  run.input = Duration(20'000);
  const Json document = Json::parse(run_stepscope({"analyze", make("run.db", run), "--json"}).out);
  EXPECT_EQ(document["verdict"]["kind"], "compute-bound");
  EXPECT_TRUE(document["verdict"]["degree"].is_null());
  EXPECT_TRUE(document["advice"].empty());
}

TEST_F(AnalyzeTest, LossesAreToldAndLowerTheConfidence) {
  SyntheticRun run;
  run.steps = 60;
  const Json whole = Json::parse(run_stepscope({"analyze", make("whole.db", run), "--json"}).out);
  run.lost_ops = 7;
  const std::string lossy_store = make("lossy.db", run);
  const Json lossy = Json::parse(run_stepscope({"analyze", lossy_store, "--json"}).out);
  EXPECT_EQ(whole["verdict"]["confidence"], "high");
  EXPECT_EQ(lossy["verdict"]["confidence"], "medium");
  EXPECT_EQ(lossy["losses"]["events"], 7);
  EXPECT_THAT(run_stepscope({"analyze", lossy_store}).out, HasSubstr("lost: 7 ops"));
}

TEST_F(AnalyzeTest, ResultsGoIntoTheStore) {
  const std::string store = make("run.db");
  ASSERT_EQ(run_stepscope({"analyze", store}).exit_code, 0);
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM verdict WHERE kind = 'input-bound'"), 1);
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM step"), 20);
  EXPECT_EQ(
      first_value(
          store,
          "SELECT count(*) FROM step JOIN (SELECT step_id, sum(exposed_ns) AS total FROM step_time "
          "GROUP BY step_id) AS t ON t.step_id = step.id WHERE t.total = step.dur_ns"),
      20);
  ASSERT_EQ(run_stepscope({"analyze", store}).exit_code, 0);
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM step"), 20)
      << "a second analysis replaces the first";
}

TEST_F(AnalyzeTest, EvidenceQueriesShowTheFigureThatTheyStandFor) {
  const std::string store = make("run.db");
  const Json document = Json::parse(run_stepscope({"analyze", store, "--json"}).out);
  const Json& evidence = document["verdict"]["evidence"][0];
  EXPECT_NEAR(first_value(store, evidence["query"]), evidence["value"].get<double>(), 1e-9);
  for (const Json& advice : document["advice"]) {
    EXPECT_GT(first_value(store, advice["evidence"]["query"]), 0) << advice["evidence"]["query"];
  }
}

// A loop without ops: step i waits wait_ns(i) and computes for 5 ms, and memory is waited for
// pressure_us in each.
void record_waits(TraceWriter& writer, int steps, const std::function<std::int64_t(int)>& wait_ns,
                  std::int64_t pressure_us) {
  const auto process = writer.add_process({4242, "train", "./train", 1, -1});
  ASSERT_TRUE(process.ok());
  const auto thread = writer.add_thread({*process, 4242, 1, "train"});
  ASSERT_TRUE(thread.ok());
  const StringId psi = writer.intern("psi_memory_some_us"), faults = writer.intern("major_faults"),
                 available = writer.intern("memory_available_bytes");
  SessionTime at = session_time(1'000'000);
  std::vector<Phase> phases;
  std::vector<Sample> samples;
  for (int i = 0; i < steps; ++i) {
    const Duration wait(wait_ns(i));
    samples.push_back({ProcessId::kNone, psi, at, 7 + i * pressure_us});
    samples.push_back({*process, faults, at, std::int64_t{i} * 30});
    samples.push_back({ProcessId::kNone, available, at, 90'000'000 - i});
    phases.push_back({*thread, PhaseKind::kInput, StringId::kNone, at, wait, Duration(0)});
    phases.push_back({*thread, PhaseKind::kBackward, StringId::kNone, at + wait,
                      Duration(5'000'000 + i % 7 * 1000), Duration(0)});
    at += wait + Duration(5'010'000);
  }
  phases.push_back({*thread, PhaseKind::kInputEnd, StringId::kNone, at, Duration(10), Duration(0)});
  ASSERT_TRUE(writer.add(phases).ok());
  ASSERT_TRUE(writer.add(samples).ok());
  ASSERT_TRUE(writer.finish().ok());
}

std::size_t check_evidence(const std::string& store, const char* kind) {
  const Json document = Json::parse(run_stepscope({"analyze", store, "--json"}).out);
  EXPECT_EQ(document["verdict"]["kind"], kind);
  for (const Json& evidence : document["verdict"]["evidence"]) {
    const double value = evidence["value"].get<double>();
    EXPECT_NEAR(first_value(store, evidence["query"]), value, 1e-6 * std::abs(value) + 0.6)
        << evidence.dump(1);
    if (evidence["unit"] == "ratio") {
      EXPECT_NEAR(first_value(store, evidence["query"]), value, 1e-9) << evidence.dump(1);
    }
  }
  return document["verdict"]["evidence"].size();
}

TEST_F(AnalyzeTest, EachEvidenceQueryReturnsItsValue) {
  const std::string stalls = (folder_ / "stalls.db").string();
  {
    auto writer = TraceWriter::create(stalls);
    ASSERT_TRUE(writer.ok());
    record_waits(
        **writer, 300,
        [](int i) { return 2'000'000 + i * 20'000 + (i % 20 == 19 ? 90'000'000 : 0); }, 0);
  }
  EXPECT_EQ(check_evidence(stalls, "input-bound"), 3u) << "the share, a kind of step, the drift";
  EXPECT_EQ(first_value(stalls, "SELECT count(*) FROM step_breakdown WHERE population = 2"), 15);
  EXPECT_EQ(first_value(stalls, "SELECT period FROM population WHERE number = 2"), 20);
  EXPECT_EQ(first_value(stalls, "SELECT count(*) FROM step_kind WHERE kind <> 'input-bound'"), 0);

  const std::string pressed = (folder_ / "pressed.db").string();
  {
    auto writer = TraceWriter::create(pressed);
    ASSERT_TRUE(writer.ok());
    record_waits(**writer, 100, [](int) { return 100'000; }, 2'000);
  }
  EXPECT_EQ(check_evidence(pressed, "memory-pressure-bound"), 3u);
  EXPECT_THAT(run_stepscope({"analyze", pressed}).out, HasSubstr("MEMORY-PRESSURE-BOUND"));
}

TEST_F(AnalyzeTest, NoWriteAndAPartOfTheStepsLeaveTheStoreAsItWas) {
  const std::string store = make("run.db");
  EXPECT_EQ(run_stepscope({"analyze", store, "--no-write"}).exit_code, 0);
  EXPECT_EQ(run_stepscope({"analyze", store, "--steps", "5-9"}).exit_code, 0);
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM verdict"), 0);
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM step"), 0);
}

TEST_F(AnalyzeTest, ARangeBeyondTheRunMeansTheStepsThatItHas) {
  const std::string store = make("run.db");
  const Outcome outcome = run_stepscope({"analyze", store, "--steps", "15-900"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("steps 15–20 of 20"));
  const Outcome none = run_stepscope({"analyze", store, "--steps", "21-900"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("steps 21-900: the run has steps 1-20"));
}

TEST_F(AnalyzeTest, StepsCutsTheAnalysis) {
  const Json document =
      Json::parse(run_stepscope({"analyze", make("run.db"), "--steps", "5-9", "--json"}).out);
  EXPECT_EQ(document["steps"]["count"], 20);
  EXPECT_EQ(document["steps"]["analysed"], 5);
  EXPECT_EQ(document["steps"]["first"], 5);
  EXPECT_EQ(document["steps"]["last"], 9);
  EXPECT_EQ(document["input"]["waits"], 5);
}

TEST_F(AnalyzeTest, AStoreStillBeingRecordedIsAnalysedAndLeftAlone) {
  const std::string store = (folder_ / "live.db").string();
  auto writer = TraceWriter::create(store);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(record(SyntheticRun{}, **writer).ok());
  ASSERT_TRUE((*writer)->flush().ok());
  const Outcome outcome = run_stepscope({"analyze", store});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("still being recorded"));
  EXPECT_THAT(outcome.out, HasSubstr("HIGHLY INPUT-BOUND"));
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("not stored"));
  ASSERT_TRUE((*writer)->finish().ok());
  EXPECT_EQ(first_value(store, "SELECT count(*) FROM verdict"), 0);
}

TEST_F(AnalyzeTest, AReadOnlyStoreIsAnalysedWithANote) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const std::string store = make("run.db");
  std::filesystem::permissions(store, std::filesystem::perms::owner_read);
  std::filesystem::permissions(
      folder_.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Outcome outcome = run_stepscope({"analyze", store});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("HIGHLY INPUT-BOUND"));
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
}

TEST_F(AnalyzeTest, WhatIsNoStoreIsRefused) {
  const std::string missing = (folder_ / "missing.db").string();
  expect_refused(run_stepscope({"analyze", missing}), missing, "");
  const std::string text = (folder_ / "notes.db").string();
  std::ofstream(text) << "Dear diary, this is no SQLite file, however long it may be.\n";
  expect_refused(run_stepscope({"analyze", text}), text, "");
  EXPECT_EQ(contents(text), "Dear diary, this is no SQLite file, however long it may be.\n");
  const std::string foreign = (folder_ / "foreign.db").string();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(foreign.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE t (a)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  expect_refused(run_stepscope({"analyze", foreign}), foreign, "");
}

TEST_F(AnalyzeTest, ANewerSchemaIsRefused) {
  const std::string store = make("run.db");
  first_value(store, "UPDATE meta SET value = '999' WHERE key = 'schema_version'");
  first_value(store, "PRAGMA user_version = 999");
  expect_refused(run_stepscope({"analyze", store}), store, "");
}

TEST_F(AnalyzeTest, AnEmptyStoreHasNoSteps) {
  const std::string store = make_empty("empty.db");
  const Outcome outcome = run_stepscope({"analyze", store});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("NO STEPS"));
  EXPECT_EQ(outcome.err,
            "stepscope analyze: " + store + ": nothing was recorded: no ops and no phases.\n");
}

TEST_F(AnalyzeTest, JsonIsPrintedForARunWithoutAStepToo) {
  const Outcome outcome = run_stepscope({"analyze", make_empty("empty.db"), "--json"});
  EXPECT_EQ(outcome.exit_code, 3);
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["verdict"]["kind"], "no-steps");
  EXPECT_TRUE(document["verdict"]["degree"].is_null());
  EXPECT_EQ(document["steps"]["count"], 0);
  EXPECT_TRUE(document["loops"].empty());
  EXPECT_TRUE(document["shares"].contains("compute"));
}

TEST_F(AnalyzeTest, WrongUsageExitsWith2) {
  const std::string store = make("run.db");
  EXPECT_EQ(run_stepscope({"analyze"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"analyze", store, "--no-such-option"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"analyze", store, "--top", "many"}).exit_code, 2);
  for (const char* steps : {"nine", "0-x", "9-5", "3-", "900-950"}) {
    const Outcome outcome = run_stepscope({"analyze", store, "--steps", steps});
    EXPECT_EQ(outcome.exit_code, 2) << steps;
    EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(steps));
  }
}

TEST_F(AnalyzeTest, HelpShowsExamples) {
  const Outcome outcome = run_stepscope({"analyze", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("stepscope analyze run.db --json"));
}

}  // namespace
}  // namespace stepscope::testing

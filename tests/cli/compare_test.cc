// `stepscope compare` as a script meets it: exit codes, the page, the JSON contract, gates, and
// input that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "present/terminal_text.h"
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

class CompareTest : public ::testing::Test {
 protected:
  // 40 steps of 4.8 ms, 3 ms of it input, unless told otherwise.
  std::string make(const char* name, const SyntheticRun& run = SyntheticRun{.steps = 40}) {
    make_store(folder_ / name, run);
    return (folder_ / name).string();
  }

  std::string make_fast(const char* name) {
    return make(name, SyntheticRun{.steps = 60, .input = Duration(600'000)});
  }

  // Steps with a loader's waits only, of 5 ms and noise.
  std::string make_noisy(const char* name, unsigned seed) {
    const std::string path = (folder_ / name).string();
    auto writer = TraceWriter::create(path);
    EXPECT_TRUE(writer.ok());
    Process process;
    process.pid = 4242;
    process.name = "train";
    Thread main;
    main.process = *(*writer)->add_process(process);
    main.tid = 4242;
    const ThreadId thread = *(*writer)->add_thread(main);
    const StringId loader = (*writer)->intern("loader");
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int64_t> noise(-200'000, 200'000);
    std::vector<Phase> phases;
    SessionTime at = session_time(0);
    for (int i = 0; i < 80; ++i) {
      const Duration step(5'000'000 + noise(random));
      phases.push_back({thread, PhaseKind::kInput, loader, at, Duration(1'000'000), Duration(0)});
      phases.push_back({thread, PhaseKind::kBackward, StringId::kNone, at + Duration(2'000'000),
                        Duration(1'000'000), Duration(0)});
      phases.push_back({thread, PhaseKind::kOptimizer, StringId::kNone, at + Duration(3'500'000),
                        Duration(500'000), Duration(0)});
      at += step;
    }
    EXPECT_TRUE((*writer)->add(phases).ok());
    EXPECT_TRUE((*writer)->finish().ok());
    return path;
  }

  TempDir folder_;
};

// Nothing on standard output, one line on standard error.
void expect_refused(const Outcome& outcome, int exit_code, const std::string& says) {
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("stepscope compare: "));
  EXPECT_THAT(outcome.err, HasSubstr(says));
}

TEST_F(CompareTest, PageIsAsExpected) {
  make("before.db");
  make("after.db", SyntheticRun{.steps = 60,
                                .input = Duration(600'000),
                                .forward = Duration(320'000),
                                .optimizer = Duration(0),
                                .slow_step = 30});
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const Outcome outcome = run_stepscope({"compare", "before.db", "after.db", "--fail-if",
                                         "step_time>+5%", "--fail-if", "input>10%", "--top", "6"});
  std::filesystem::current_path(here);
  EXPECT_EQ(outcome.exit_code, 1) << "input is a quarter of the step";
  EXPECT_EQ(outcome.err, "");
  const auto golden = source_folder() / "tests/cli/golden/compare.txt";
  EXPECT_EQ(outcome.out, contents(golden));
}

TEST_F(CompareTest, TheSameRunTwiceIsNoise) {
  const std::string store = make("run.db");
  const Outcome outcome = run_stepscope({"compare", store, store, "--fail-if", "step_time>+0%"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("No difference beyond noise: "));
  EXPECT_THAT(outcome.out, HasSubstr("none of 6 changed beyond noise"));
}

TEST_F(CompareTest, NoLineOfThePageIsWiderThan100) {
  const auto make_wide = [&](const char* name, int ops) {
    const std::string store = (folder_ / name).string();
    auto writer = TraceWriter::create(store);
    EXPECT_TRUE(writer.ok());
    SyntheticRun run{.steps = 40};
    EXPECT_TRUE(record(run, **writer).ok());
    const StringId text = (*writer)->intern(std::string(300, 'x') + "\n\033[31m" + "äöü€");
    std::vector<Op> added;
    for (int i = 0; i < 40; ++i) {
      for (int n = 0; n < ops; ++n) {
        Op op;
        op.thread = kLoopThread;
        op.name = text;
        op.start = run.step_start(i) + Duration(1000 + n * 2000);
        op.dur = op.self = Duration(1900);
        added.push_back(op);
      }
    }
    EXPECT_TRUE((*writer)->add(added).ok());
    EXPECT_TRUE((*writer)->finish().ok());
    return store;
  };
  const std::string a = make_wide("a.db", 1), b = make_wide("b.db", 1400);
  const std::string gate = "step_time > +5" + std::string(200, ' ') + "%";
  const Outcome outcome = run_stepscope({"compare", a, b, "--top", "50", "--fail-if", gate});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("xxx"));
  EXPECT_THAT(outcome.out, HasSubstr("1 → 1400"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\033")));
  std::istringstream page(outcome.out);
  for (std::string line; std::getline(page, line);) EXPECT_LE(width_of(line), 100u) << line;
}

void expect_difference_keys(const Json& difference, bool relative) {
  for (const char* key : {"a", "b", "difference", "interval", "level", "noise"})
    EXPECT_TRUE(difference.contains(key)) << key;
  EXPECT_EQ(difference.contains("relative"), relative);
  EXPECT_EQ(difference.contains("relative_interval"), relative);
}

TEST_F(CompareTest, JsonKeepsItsContract) {
  const Outcome outcome = run_stepscope(
      {"compare", make("before.db"), make_fast("after.db"), "--json", "--fail-if", "input>90%"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "stepscope.comparison/1");
  for (const char* side : {"a", "b"}) {
    for (const char* key : {"path", "command", "torch_version", "hosts", "cpu_count",
                            "being_recorded", "ops", "lost", "loops"}) {
      EXPECT_TRUE(document[side].contains(key)) << key;
    }
  }
  for (const char* key : {"gates", "notes", "loops", "only_in_a", "only_in_b"})
    EXPECT_TRUE(document[key].is_array()) << key;
  ASSERT_EQ(document["loops"].size(), 1u);
  for (const Json& loop : {document, document["loops"][0]}) {
    EXPECT_EQ(loop["change"], "faster");
    EXPECT_THAT(loop["answer"].get<std::string>(), StartsWith("B is 2.0 × faster"));
    EXPECT_TRUE(loop["why"].is_array());
    EXPECT_EQ(loop["loop_a"]["steps"]["analysed"], 39);
    EXPECT_EQ(loop["loop_b"]["steps"]["analysed"], 59);
    for (const char* key : {"process", "rank", "thread", "thread_name", "steps"})
      EXPECT_TRUE(loop["loop_a"].contains(key)) << key;
    expect_difference_keys(loop["step_time"]["mean"], true);
    expect_difference_keys(loop["step_time"]["p50"], true);
    expect_difference_keys(loop["categories"]["input"]["ns"], true);
    expect_difference_keys(loop["categories"]["input"]["share"], false);
    for (const char* phase : {"input", "forward", "backward", "optimizer", "other"})
      expect_difference_keys(loop["phases"][phase]["ns"], true);
    EXPECT_EQ(loop["ops_compared"], 6);
    ASSERT_FALSE(loop["ops"].empty());
    for (const char* key : {"kind", "name", "phase", "changed", "trifle", "self_ns", "calls"})
      EXPECT_TRUE(loop["ops"][0].contains(key)) << key;
  }
  for (const char* key :
       {"gate", "metric", "of", "limit", "value", "interval", "state", "why", "loop"})
    EXPECT_TRUE(document["gates"][0].contains(key)) << key;
}

TEST_F(CompareTest, JsonFiguresAreThoseOfTheRuns) {
  const Json document = Json::parse(
      run_stepscope({"compare", make("before.db"), make_fast("after.db"), "--json"}).out);
  const Json& input = document["categories"]["input"];
  EXPECT_EQ(input["ns"]["a"], 3'000'000);
  EXPECT_EQ(input["ns"]["b"], 600'000);
  EXPECT_EQ(input["ns"]["difference"], -2'400'000);
  EXPECT_EQ(input["ns"]["noise"], false);
  EXPECT_NEAR(input["ns"]["relative"].get<double>(), -0.8, 1e-6);
  EXPECT_NEAR(input["share"]["a"].get<double>(), 3.0 / 4.8, 1e-3);
  EXPECT_EQ(document["categories"]["compute"]["ns"]["noise"], true);
  const Json& mean = document["step_time"]["mean"];
  EXPECT_LE(mean["interval"][0], mean["difference"]);
  EXPECT_GE(mean["interval"][1], mean["difference"]);
  EXPECT_LT(mean["interval"][1], 0);
}

TEST_F(CompareTest, WindowsCutEitherRun) {
  const std::string store = make("run.db");
  const Json document = Json::parse(
      run_stepscope({"compare", store, store, "--steps-a", "2-11", "--steps-b", "20-39", "--json"})
          .out);
  EXPECT_EQ(document["loop_a"]["steps"]["analysed"], 10);
  EXPECT_EQ(document["loop_a"]["steps"]["last"], 11);
  EXPECT_EQ(document["loop_b"]["steps"]["analysed"], 20);
  EXPECT_EQ(document["loop_b"]["steps"]["first"], 20);
  expect_refused(run_stepscope({"compare", store, store, "--steps-a", "nine"}), 2,
                 "--steps-a nine");
  expect_refused(run_stepscope({"compare", store, store, "--steps-b", "900-950"}), 2, store);
}

TEST_F(CompareTest, GatesFailWithOneAndSayWhich) {
  const std::string slow = make("slow.db"), fast = make_fast("fast.db");
  const auto exit_code = [&](const std::string& a, const std::string& b, const std::string& gate) {
    return run_stepscope({"compare", a, b, "--fail-if", gate}).exit_code;
  };
  EXPECT_EQ(exit_code(fast, slow, "step_time>+5%"), 1);
  EXPECT_EQ(exit_code(slow, fast, "step_time>+5%"), 0);
  EXPECT_EQ(exit_code(fast, slow, "p50>4ms"), 1);
  EXPECT_EQ(exit_code(fast, slow, "input>+10pp"), 1);
  EXPECT_EQ(exit_code(fast, slow, "forward>+1%"), 0);
  const Outcome outcome = run_stepscope(
      {"compare", fast, slow, "--fail-if", "forward>+1%", "--fail-if", "step_time>+5%", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json gates = Json::parse(outcome.out)["gates"];
  EXPECT_EQ(gates[0]["state"], "passed");
  EXPECT_EQ(gates[1]["state"], "failed");
  EXPECT_EQ(gates[1]["gate"], "step_time>+5%");
}

TEST_F(CompareTest, NoiseFailsNoGate) {
  int answered_noise = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const std::string a = make_noisy(("a" + std::to_string(seed) + ".db").c_str(), seed);
    const std::string b = make_noisy(("b" + std::to_string(seed) + ".db").c_str(), seed + 100);
    const Outcome outcome = run_stepscope({"compare", a, b, "--fail-if", "step_time>+0.5%"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    answered_noise += outcome.out.starts_with("No difference beyond noise") ? 1 : 0;
  }
  EXPECT_GE(answered_noise, 4);
}

TEST_F(CompareTest, AWrongGateIsRefusedBeforeAnythingIsRead) {
  for (const char* gate :
       {"speed>+5%", "step_time", "step_time>5%", "", ">", "input>10", "\033[31m>5%"}) {
    const Outcome outcome =
        run_stepscope({"compare", "/nowhere/a.db", "/nowhere/b.db", "--fail-if", gate});
    expect_refused(outcome, 2, "gate \"");
    EXPECT_THAT(outcome.err, Not(HasSubstr("\033")));
  }
}

TEST_F(CompareTest, TheReasonOfAGateIsWhole) {
  int beyond = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const std::string a = make_noisy("a.db", seed), b = make_noisy("b.db", seed + 100);
    const Outcome outcome = run_stepscope({"compare", a, b, "--fail-if", "step_time>+0%"});
    const std::string gates = outcome.out.substr(outcome.out.find("step_time>+0%"));
    if (gates.find("beyond the limit") == std::string::npos) continue;
    EXPECT_THAT(gates, HasSubstr("noise\n"));
    ++beyond;
  }
  EXPECT_GT(beyond, 0);
}

TEST_F(CompareTest, AGateThatCannotBeDecidedIsNoSuccess) {
  const std::string store = make("run.db"), one = make("one.db", SyntheticRun{.steps = 1});
  const Outcome outcome = run_stepscope({"compare", store, one, "--fail-if", "step_time>+5%"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, StartsWith("Too few steps to distinguish"));
  EXPECT_THAT(outcome.out, HasSubstr("UNSURE"));
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("step_time>+5%"));
  EXPECT_EQ(run_stepscope({"compare", store, one}).exit_code, 0) << "without a gate, nothing fails";
}

TEST_F(CompareTest, WhatIsNoRunIsRefused) {
  const std::string store = make("run.db");
  const std::string missing = (folder_ / "missing.db").string();
  const std::string text = (folder_ / "notes.db").string();
  std::ofstream(text) << "Dear diary, this is no SQLite file, however long it may be.\n";
  const std::string empty = (folder_ / "empty.db").string();
  {
    auto writer = TraceWriter::create(empty);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  for (const std::string& bad : {missing, text, empty, folder_.path().string()}) {
    expect_refused(run_stepscope({"compare", store, bad}), 3, bad);
    expect_refused(run_stepscope({"compare", bad, store, "--json"}), 3, bad);
  }
}

TEST_F(CompareTest, RanksAreMatchedAndMissingOnesTold) {
  const std::string a = make("a.db", SyntheticRun{.steps = 40, .rank = 0});
  const std::string b = make("b.db", SyntheticRun{.steps = 40, .rank = 0});
  const std::string c = make("c.db", SyntheticRun{.steps = 40, .rank = 1});
  EXPECT_TRUE(Json::parse(run_stepscope({"compare", a, b, "--json"}).out)["notes"].empty());
  const Json other = Json::parse(run_stepscope({"compare", a, c, "--json"}).out);
  ASSERT_FALSE(other["notes"].empty());
  EXPECT_EQ(other["notes"][0]["id"], "ranks");
}

TEST_F(CompareTest, ComparingLeavesTheStoresAsTheyWere) {
  const std::string a = make("a.db"), b = make_fast("b.db");
  const std::string before = contents(a);
  EXPECT_EQ(run_stepscope({"compare", a, b}).exit_code, 0);
  EXPECT_TRUE(contents(a) == before);
}

TEST_F(CompareTest, WrongUsageExitsWith2) {
  const std::string store = make("run.db");
  EXPECT_EQ(run_stepscope({"compare"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"compare", store}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"compare", store, store, "--fail-if"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"compare", store, store, "--no-such-option"}).exit_code, 2);
}

TEST_F(CompareTest, HelpShowsExamples) {
  const Outcome outcome = run_stepscope({"compare", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("stepscope compare before.db after.db"));
  EXPECT_THAT(outcome.out, HasSubstr("--fail-if 'step_time>+5%'"));
}

// Half as fast and a quarter of the price: cheaper all the same.
TEST_F(CompareTest, WhatASampleCostsInEach) {
  const std::string fast = make_fast("fast.db"), slow = make("slow.db");
  const std::vector<std::string> command = {"compare", fast, slow, "--price-per-hour", "4,1"};
  const Outcome steps = run_stepscope(command);
  EXPECT_EQ(steps.exit_code, 0) << steps.err;
  EXPECT_THAT(steps.out, HasSubstr("  cost   a million steps: A "));
  auto with_samples = command;
  with_samples.insert(with_samples.end(), {"--samples-per-step", "64,64"});
  EXPECT_THAT(run_stepscope(with_samples).out, HasSubstr("a million samples: A "));
  with_samples.push_back("--json");
  const Json cost = Json::parse(run_stepscope(with_samples).out)["cost"];
  const Json document = Json::parse(run_stepscope({"compare", fast, slow, "--json"}).out);
  EXPECT_EQ(document["cost"], nullptr);
  EXPECT_EQ(cost["of"], "sample");
  const double slower = document["step_time"]["mean"]["relative"].get<double>();
  EXPECT_NEAR(cost["relative"].get<double>(), (1 + slower) / 4 - 1, 1e-4);
  EXPECT_LT(cost["relative"].get<double>(), 0);
  EXPECT_LT(cost["relative_interval"][1].get<double>(), 0);
  const double step_ns = document["step_time"]["mean"]["a"].get<double>();
  EXPECT_NEAR(cost["a"]["per_sample"].get<double>(), 4 * step_ns / 3600e9 / 64, 1e-14);
}

TEST_F(CompareTest, APriceIsOfBothRuns) {
  const std::string a = make("a.db");
  const Outcome one = run_stepscope({"compare", a, a, "--price-per-hour", "4"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_EQ(run_stepscope({"compare", a, a, "--price-per-hour", "4,0"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"compare", a, a, "--samples-per-step", "4,4"}).exit_code, 2);
}

}  // namespace
}  // namespace stepscope::testing

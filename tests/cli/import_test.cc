// `stepscope import` as a script meets it, and traces given to verbs that read stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class ImportVerbTest : public ::testing::Test {
 protected:
  ImportVerbTest()
      : folder_(fs::path(::testing::TempDir()) / ("import-" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "tmp");
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  ~ImportVerbTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  // What the PyTorch profiler writes of 30 steps of 10 ms, of which 4 wait for a batch.
  std::string write_trace(const std::string& name, int wait_us = 4000) const {
    Json events = Json::array();
    const auto range = [&](const char* category, const std::string& what, int at, int length) {
      events.push_back({{"ph", "X"},
                        {"cat", category},
                        {"name", what},
                        {"pid", 42},
                        {"tid", 42},
                        {"ts", at},
                        {"dur", length}});
    };
    for (int step = 0; step < 30; ++step) {
      const int at = 1000 + step * 10000;
      range("user_annotation", "ProfilerStep#" + std::to_string(step), at, 10000);
      range("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
            wait_us + step % 3);
      range("cpu_op", "aten::mm", at + 5000, 3000);
      range("user_annotation", "Optimizer.step#SGD.step", at + 8500, 1000);
    }
    const Json document = {{"schemaVersion", 1}, {"traceEvents", std::move(events)}};
    return write(name, document.dump());
  }

  [[nodiscard]] bool left_nothing_behind() const { return fs::is_empty(folder_ / "tmp"); }

  fs::path folder_;
};

TEST_F(ImportVerbTest, ATraceBecomesAStore) {
  const Outcome outcome = run_stepscope({"import", write_trace("t.json"), "-o", path("run.db")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("run.db: "), HasSubstr("0 kernels"),
                                 HasSubstr("next: stepscope analyze")));
  EXPECT_THAT(outcome.err, IsEmpty()) << "progress is for a terminal";
  const auto report = Json::parse(run_stepscope({"analyze", path("run.db"), "--json"}).out);
  EXPECT_EQ(report["steps"]["count"], 30);
  EXPECT_NEAR(report["shares"]["input"].get<double>(), 0.4, 0.001);
}

// Some editors put it there; with gzip it comes in pieces of the inflater's choice.
TEST_F(ImportVerbTest, AByteOrderMarkBeforeATraceIsSkipped) {
  const std::string marked = write("marked.json", "\xEF\xBB\xBF" + contents(write_trace("t.json")));
  for (const char* zip : {"", "gzip -f "}) {
    if (*zip != 0) {
      ASSERT_EQ(run_program({"/bin/sh", "-c", zip + marked}).exit_code, 0);
    }
    const Outcome outcome =
        run_stepscope({"import", *zip == 0 ? marked : marked + ".gz", "-o", path("run.db")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("run.db: "));
  }
  const Outcome nothing =
      run_stepscope({"import", write("mark.json", "\xEF\xBB\xBF"), "-o", path("x.db")});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_EQ(lines_in(nothing.err), 1u) << nothing.err;
}

TEST_F(ImportVerbTest, AnOutputThatCannotBeIsNamedAsTheUserDid) {
  const std::string trace = write_trace("t.json");
  const Outcome none = run_stepscope({"import", trace, "-o", path("none/run.db")});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr(path("none/run.db") + ": "));
  const Outcome stream = run_stepscope({"import", trace, "-o", "-"});
  EXPECT_EQ(stream.exit_code, 2);
  EXPECT_THAT(stream.err, HasSubstr("a store cannot be a stream; name a file"));
}

TEST_F(ImportVerbTest, AnOutputMayHaveTheLongestNameOfAStore) {
  const std::string trace = write_trace("t.json");
  const std::string longest = path(std::string(244, 'y') + ".db");
  const Outcome outcome = run_stepscope({"import", trace, "-o", longest});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(longest));
  const std::string longer = path(std::string(245, 'y') + ".db");
  const Outcome refused = run_stepscope({"import", trace, "-o", longer});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err,
              HasSubstr(longer + ": File name too long (SQLite adds -journal to it); shorten it"));
}

TEST_F(ImportVerbTest, AGzipBombIsRefused) {
  // A trace that begins well, then blanks without end: 400 MB that fit into 400 kB.
  const std::string bomb = path("bomb.json.gz");
  const Outcome made = run_program(
      {"/bin/sh", "-c",
       "(printf '{\"traceEvents\":['; head -c 400000000 /dev/zero | tr '\\0' ' ') | gzip -9 > " +
           bomb});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome outcome = run_stepscope({"import", bomb, "-o", path("run.db")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(bomb), HasSubstr("250 times")));
}

TEST_F(ImportVerbTest, FilesThatLieYearsApartAreNoRun) {
  const auto trace = [this](const std::string& name, const std::string& base) {
    return write(name, R"({"baseTimeNanoseconds": )" + base +
                           R"(, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm",
                           "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})");
  };
  const Outcome outcome =
      run_stepscope({"import", trace("rank0.json", "1600000000000000000"),
                     trace("rank1.json", "1700000000000000000"), "-o", path("run.db")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("more than a year apart"));
}

TEST_F(ImportVerbTest, WhatIsNoTraceIsSaidInALine) {
  const std::string cut = write("cut.json", contents(write_trace("t.json")).substr(0, 5000));
  const std::string earlier = path("run.db");
  make_store(earlier, SyntheticRun{.steps = 3});
  const std::string before = contents(earlier);
  const auto refuses = [&](const std::string& file, const char* why) {
    const Outcome outcome = run_stepscope({"import", file, "-o", earlier});
    EXPECT_EQ(outcome.exit_code, 3) << file;
    EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(file), HasSubstr(why)));
    EXPECT_EQ(contents(earlier), before) << "what was there is still there";
  };
  refuses(cut, "byte ");
  refuses(path("nowhere.json"), "o such file");
  refuses(write("notes.txt", "hello"), "byte 0");
  refuses(write("trace.zip", "PK\x03\x04 and more"), "is a zip archive; unpack it");
  refuses(write("trace.json.xz", std::string("\xfd"
                                             "7zXZ\0",
                                             6)),
          "is compressed by xz; unpack it");
  refuses(write("trace.json", "\xff\xfe{"), "is UTF-16 text; convert it first");
  refuses(write("report.nsys-rep", "anything"), "export it first: nsys export");
  make_store(path("other.db"), SyntheticRun{.steps = 1});
  refuses(path("other.db"), "is a recording of Stepscope already; `stepscope analyze` reads it");
  EXPECT_FALSE(fs::exists(earlier + ".old"));

  const Outcome partly = run_stepscope({"import", cut, "-o", earlier, "--partial"});
  EXPECT_EQ(partly.exit_code, 0) << partly.err;
  EXPECT_THAT(partly.err, HasSubstr("kept the part before the damage"));
  EXPECT_TRUE(fs::exists(earlier + ".old"));
}

TEST_F(ImportVerbTest, WrongUsageIsSaidInALine) {
  const std::string trace = write_trace("t.json");
  const auto says = [](std::vector<std::string> arguments, const char* what) {
    arguments.insert(arguments.begin(), "import");
    const Outcome outcome = run_stepscope(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << what;
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(what));
  };
  says({trace, "-o", ""}, "the name of the output is empty");
  says({"", "-o", path("run.db")}, "the name of the file is empty");
  says({trace, "-o", path("run.db"), "--steps-nvtx", "step *"}, "is for exports of Nsight Systems");
}

TEST_F(ImportVerbTest, ATraceCanBeAnalysedAsItIs) {
  const std::string trace = write_trace("t.json");
  ASSERT_EQ(run_stepscope({"import", trace, "-o", path("run.db")}).exit_code, 0);
  const Outcome outcome = run_stepscope({"analyze", trace, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto direct = Json::parse(outcome.out);
  const auto stored = Json::parse(run_stepscope({"analyze", path("run.db"), "--json"}).out);
  EXPECT_EQ(direct["shares"], stored["shares"]);
  EXPECT_EQ(direct["verdict"], stored["verdict"]);
  EXPECT_THAT(run_stepscope({"analyze", trace}).out, HasSubstr("stepscope import " + trace));
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(ImportVerbTest, TracesCanBeComparedAndAskedAsTheyAre) {
  const std::string slow = write_trace("slow.json"), fast = write_trace("fast.json", 100);
  const Outcome compared =
      run_stepscope({"compare", slow, fast, "--json", "--fail-if", "input>1%"});
  ASSERT_EQ(compared.exit_code, 1) << compared.err << "1.1 % of the step";
  EXPECT_TRUE(Json::parse(compared.out).is_object());
  EXPECT_EQ(run_stepscope({"what-if", slow, "--op", "aten::mm=2x"}).exit_code, 0);
  EXPECT_TRUE(left_nothing_behind());
}

TEST_F(ImportVerbTest, ABrokenTraceIsNamedByTheVerbThatReadsIt) {
  const std::string cut = write("cut.json", contents(write_trace("t.json")).substr(0, 5000));
  const Outcome outcome = run_stepscope({"analyze", cut});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(cut), HasSubstr("byte ")));
  EXPECT_EQ(lines_in(outcome.err), 1u);
  EXPECT_TRUE(left_nothing_behind());
  EXPECT_THAT(run_stepscope({"analyze", write("notes.txt", "hello")}).err,
              HasSubstr("not a Stepscope store"));
}

}  // namespace
}  // namespace stepscope::testing

// `stepscope run` around programs that are no training at all: nothing about them may change.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/trace_writer.h"
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

// The longest value that the kernel lets a program start with: any addition to it is too much.
std::string longest_value(const std::string& name) {
  return std::string(static_cast<std::size_t>(32 * sysconf(_SC_PAGESIZE)) - name.size() - 2, 'x');
}

TEST_F(RunTest, AVariableWithoutRoomForOursStaysAsItIs) {
  for (const std::string name : {"PYTHONPATH", "LD_PRELOAD"}) {
    const std::string value = longest_value(name);
    setenv(name.c_str(), value.c_str(), 1);
    const Outcome outcome = shell("printf %s \"$" + name + "\"");
    unsetenv(name.c_str());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err.substr(0, 300);
    EXPECT_TRUE(outcome.out == value) << name << " has " << outcome.out.size() << " bytes";
    const bool told = outcome.err.find("LD_PRELOAD has no room") != std::string::npos;
    EXPECT_EQ(told, name == "LD_PRELOAD");
  }
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

// As under a supervisor that leaves its children to the kernel: their status is then kept for
// nobody.
TEST_F(RunTest, TheEndIsSeenIfChildrenAreIgnored) {
  // A shell would change what it ignores. The file that is missing makes grep exit with 2.
  const std::vector<std::string> program{"grep", "-hs", "SigIgn", "/proc/self/status", "/missing"};
  std::vector<std::string> alone{"env", "--ignore-signal=CHLD"};
  std::vector<std::string> wrapped = alone;
  wrapped.insert(wrapped.end(), {STEPSCOPE_BINARY, "run", "-o", store_, "--quiet", "--"});
  for (std::vector<std::string>* command : {&alone, &wrapped})
    command->insert(command->end(), program.begin(), program.end());
  const Outcome outcome = run_program(wrapped);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, run_program(alone).out);
}

TEST_F(RunTest, AProgramWithoutLibtorchIsToldSo) {
  const Outcome outcome = wrap({"true"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("no libtorch was seen in true: nothing was recorded"));
}

TEST_F(RunTest, AMissingProgramLeavesTheStoreAlone) {
  std::ofstream(store_) << "mine";
  const Outcome outcome = wrap({"no-such-program"});
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_THAT(outcome.err, HasSubstr("no-such-program: no such program"));
  EXPECT_EQ(std::filesystem::file_size(store_), 4U);
}

// An earlier recording with an event, and one before it.
class EarlierRecordings : public RunTest {
 protected:
  EarlierRecordings() {
    for (const int process : {1, 2}) {
      auto writer = TraceWriter::create(store_);
      EXPECT_TRUE(writer.ok());
      Thread thread;
      thread.process = *(*writer)->add_process({process, "train", "./train", 0, -1});
      const auto id = (*writer)->add_thread(thread);
      EXPECT_TRUE(id.ok());
      EXPECT_TRUE((*writer)
                      ->add(Phase{*id, PhaseKind::kInput, StringId::kNone, session_time(0),
                                  Duration(1), Duration(0)})
                      .ok());
      EXPECT_TRUE((*writer)->finish().ok());
    }
    before_ = testing::contents(store_);
    old_before_ = testing::contents(store_ + ".old");
  }
  void expect_unchanged(const std::string& why) const {
    EXPECT_TRUE(testing::contents(store_) == before_) << why;
    EXPECT_TRUE(testing::contents(store_ + ".old") == old_before_) << why;
  }

  std::string before_, old_before_;
};

TEST_F(EarlierRecordings, FailedStartsLeaveThem) {
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(wrap({"no-such-program"}).exit_code, 127);
    EXPECT_EQ(wrap({"/etc/passwd"}).exit_code, 126);
    EXPECT_EQ(wrap({"sh", "no-such-script.sh"}).exit_code,
              run_program({"sh", "no-such"}).exit_code);
    expect_unchanged("a program that does not start");
  }
  for (const bool quiet : {false, true}) {
    const Outcome outcome = wrap({"sh", "-c", "exit 3"}, quiet ? std::vector<std::string>{"--quiet"}
                                                               : std::vector<std::string>{});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr(store_ + " is still the earlier recording"));
    expect_unchanged("a program without libtorch");
  }
}

TEST_F(EarlierRecordings, AWrongOptionLeavesThem) {
  EXPECT_EQ(wrap({"true"}, {"--schedule", "wait=1"}).exit_code, 2);
  const Outcome from_zero = wrap({"true"}, {"--steps", "0-4"});
  EXPECT_EQ(from_zero.exit_code, 2);
  EXPECT_THAT(from_zero.err, HasSubstr("--steps 0-4: the steps of a run are counted from 1"));
  expect_unchanged("a wrong option");
}

// Found, and yet the system does not start it: somebody is writing it.
class BusyProgram {
 public:
  BusyProgram() {
    std::filesystem::copy_file("/bin/true", path_,
                               std::filesystem::copy_options::overwrite_existing);
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  ~BusyProgram() {
    close(fd_);
    std::filesystem::remove(path_);
  }
  BusyProgram(const BusyProgram&) = delete;
  BusyProgram& operator=(const BusyProgram&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  // Some kernels start it.
  [[nodiscard]] bool is_refused() const { return run_program({path_}).exit_code == 126; }

 private:
  const std::string path_ = ::testing::TempDir() + "/busy-" + std::to_string(getpid());
  int fd_ = -1;
};

TEST_F(EarlierRecordings, AProgramThatTheSystemRefusesLeavesThem) {
  const BusyProgram busy;
  if (!busy.is_refused()) GTEST_SKIP() << "this system starts it";
  const Outcome outcome = wrap({busy.path()});
  EXPECT_EQ(outcome.exit_code, 126);
  EXPECT_THAT(outcome.err, HasSubstr("cannot be started"));
  expect_unchanged("a program that is refused");
}

TEST_F(RunTest, AProgramThatTheSystemRefusesLeavesNothing) {
  const BusyProgram busy;
  if (!busy.is_refused()) GTEST_SKIP() << "this system starts it";
  EXPECT_EQ(wrap({busy.path()}).exit_code, 126);
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(RunTest, AFolderThatTakesNoFilesIsToldBeforeTheProgramStarts) {
  for (const std::string folder : {"/proc", "/no-such-folder", "/etc/passwd"}) {
    const Outcome outcome = run_stepscope({"run", "-o", folder + "/x.db", "--", "echo", "started"});
    EXPECT_EQ(outcome.exit_code, 3) << folder;
    EXPECT_EQ(outcome.out, "") << folder;
    EXPECT_EQ(testing::lines_in(outcome.err), 1U) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(folder + "/x.db: "));
    EXPECT_THAT(outcome.err, HasSubstr("folder"));
  }
  const Outcome nameless = run_stepscope({"run", "-o", "", "--", "echo", "started"});
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_EQ(nameless.out, "");
}

TEST_F(RunTest, AStoreIsNoStream) {
  const std::vector<std::vector<std::string>> verbs{{"run"}, {"sweep", "-p", "n=1,2"}};
  for (std::vector<std::string> words : verbs) {
    words.insert(words.end(), {"-o", "-", "--", "echo", "{n}"});
    const Outcome outcome = run_stepscope(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err,
              "stepscope " + words.front() + ": -o -: a store cannot be a stream; name a file\n");
  }
}

TEST_F(RunTest, TheNameOfTheStoreMayHavePlaceholders) {
  const std::string folder = ::testing::TempDir() + "/names-" + std::to_string(getpid());
  const auto run = [](const std::string& output) {
    return run_stepscope({"run", "-o", output, "--job", "a/b", "--", "echo", "started"});
  };
  EXPECT_EQ(run(folder + "/{job}/{rank}.db").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/a_b/0.db"));
  const Outcome unknown = run(folder + "/{gpu}.db");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(testing::lines_in(unknown.err), 1U);
  EXPECT_THAT(unknown.err, HasSubstr("{gpu} is not a placeholder"));
  const Outcome nowhere = run("/proc/{job}/x.db");
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("/proc/a_b: cannot be created"));
  std::filesystem::remove_all(folder);
}

TEST_F(RunTest, TheNameIsTheScripts) {
  EXPECT_THAT(wrap({"sh", "-c", "true; : train.py"}).err, HasSubstr("was seen in train.py:"));
}

TEST_F(RunTest, AVerbThatIsNoneIsCorrected) {
  const auto said = [](const std::string& verb) { return run_stepscope({verb, "run.db"}); };
  EXPECT_EQ(said("analyse").exit_code, 2);
  EXPECT_EQ(said("analyse").out, "");
  EXPECT_THAT(said("analyse").err, HasSubstr("no verb \"analyse\"; did you mean `analyze`?"));
  EXPECT_EQ(testing::lines_in(said("analyse").err), 1U);
  EXPECT_THAT(said("exprot").err, HasSubstr("`export`"));
  EXPECT_THAT(said("reprot").err, HasSubstr("`report`"));
  EXPECT_THAT(said("wath-if").err, HasSubstr("`what-if`"));
  for (const char* unlike : {"frobnicate", "x", "-x", ""}) {
    EXPECT_EQ(said(unlike).exit_code, 2) << unlike;
    EXPECT_THAT(said(unlike).err, ::testing::Not(HasSubstr("did you mean"))) << unlike;
  }
  EXPECT_THAT(run_stepscope({"analyze"}).err, ::testing::Not(HasSubstr("did you mean")));
}

TEST_F(RunTest, WhatCannotBeExecutedIsToldSo) {
  const Outcome outcome = wrap({"/etc/passwd"});
  EXPECT_EQ(outcome.exit_code, 126);
  EXPECT_THAT(outcome.err, HasSubstr("cannot be executed"));
}

TEST_F(RunTest, ABudgetThatMakesNoSenseRunsNothing) {
  for (const char* budget : {"0", "-1%", "101%", "2 percent", "nan", "", "2%%"}) {
    const Outcome outcome = wrap({"echo", "ran"}, {"--budget", budget});
    EXPECT_EQ(outcome.exit_code, 2) << budget;
    EXPECT_EQ(outcome.out, "") << budget;
    EXPECT_THAT(outcome.err, HasSubstr("write a share of the run's time above 0 and up to 100%"));
  }
  for (const char* budget : {"0.5%", "2 %", "0.02", "100%"})
    EXPECT_EQ(wrap({"echo", "ran"}, {"--quiet", "--budget", budget}).out, "ran\n") << budget;
}

TEST_F(RunTest, OptionsThatContradictEachOtherRunNothing) {
  const std::vector<std::string> never{"--ops", "never"}, phases{"--tier", "phases"},
      all{"--ops", "all"};
  const struct {
    std::vector<std::string> one, other;
  } pairs[] = {{phases, all},
               {phases, {"--steps", "1-2"}},
               {phases, {"--schedule", "active=1"}},
               {phases, {"--duration", "1"}},
               {never, {"--steps", "1-2"}},
               {all, {"--budget", "2%"}}};
  for (const auto& [one, other] : pairs) {
    std::vector<std::string> options = one;
    options.insert(options.end(), other.begin(), other.end());
    const Outcome outcome = wrap({"echo", "ran"}, options);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    const std::string first = one[0] + " " + one[1];
    const std::string second = other == all ? "--ops all" : other[0];
    EXPECT_EQ(outcome.err, "stepscope run: " + first + " and " + second +
                               " contradict each other; omit one; see `stepscope run --help`\n");
  }
}

TEST_F(RunTest, AnEmptyValueRunsNothing) {
  for (const std::string option : {"--steps", "--schedule", "--job", "--lake"}) {
    const Outcome outcome = wrap({"echo", "ran"}, {option, ""});
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_EQ(outcome.out, "") << option;
    EXPECT_THAT(outcome.err, HasSubstr(option + ": the value is empty; omit the option"));
  }
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

// The session and its recorder without libtorch: threads note ops as the hooks would, the recorder
// drains them meanwhile. Under ThreadSanitizer this is the test of the whole concurrent part.
#include "profiler/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "profiler/session/current_thread.h"
#include "stepscope/c_api.h"
#include "store/trace_reader.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

void note_op(const char* name) {
  ThreadRecorder* recorder = current_thread();
  ASSERT_NE(recorder, nullptr);
  recorder->start_op({&name, name, -1, 0, OpScope::kFunction});
  recorder->end_op(&name);
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    path_ = testing::TempDir() + "/session-" + std::to_string(getpid()) + ".db";
    options_.output = path_.c_str();
  }
  ~SessionTest() override {
    (void)Session::get().stop();
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }
  void start() {
    const Status status = Session::get().start(options_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void stop() {
    const Status status = Session::get().stop();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // Ops by name, and what was lost under "lost".
  std::map<std::string, std::int64_t> counts() const {
    std::map<std::string, std::int64_t> counts;
    const auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    const Status status = (*reader)->for_each_op([&](const Op& op) {
      ++counts[std::string((*reader)->text(op.name))];
      return true;
    });
    EXPECT_TRUE(status.ok());
    const auto losses = (*reader)->losses();
    EXPECT_TRUE(losses.ok());
    for (const Loss& loss : *losses) counts["lost"] += loss.count;
    return counts;
  }

  // How many there are so far, by whose they are and their counter.
  std::map<std::string, int> samples() const {
    std::map<std::string, int> seen;
    const auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    const Status status = (*reader)->for_each_sample([&](const Sample& sample) {
      const std::string whose = sample.process == ProcessId::kNone ? "machine " : "own ";
      ++seen[whose + std::string((*reader)->text(sample.counter))];
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return seen;
  }

  std::string path_;
  stepscope_options options_{};
};

// How many descriptors the kernel's table of them has room for.
int descriptor_room() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("FDSize:")) return std::stoi(line.substr(7));
  }
  return 0;
}

// The kernel blocks a program with threads for some 10 ms when its table grows.
TEST_F(SessionTest, TheTableOfDescriptorsGrowsBeforeTheFirstStep) {
  const pid_t child = fork();  // whose table has room for little more than what is open
  if (child == 0) {
    if (!Session::get().start(options_).ok()) _exit(1);
    const int room = descriptor_room();
    Session::get().step();
    std::this_thread::sleep_for(milliseconds(20));
    Session::get().step();
    _exit(room > 512 && descriptor_room() == room ? 42 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

// std::exit() destroys no object on the stack, such as a Recording.
TEST_F(SessionTest, EndsWithAProgramThatExitsWithoutStoppingIt) {
  EXPECT_EXIT(
      {
        start();
        for (int i = 0; i < 100; ++i) note_op("mine");
        std::exit(7);
      },
      testing::ExitedWithCode(7), "^$");
  EXPECT_EQ(counts(), (std::map<std::string, std::int64_t>{{"mine", 100}}));
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->meta("state"), "complete");
}

TEST_F(SessionTest, EveryThreadsOpsArriveOrAreCounted) {
  start();
  constexpr int kThreads = 8;
  constexpr int kOps = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kOps; ++i) note_op(i % 2 == 0 ? "even" : "odd");
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop();
  auto stored = counts();
  EXPECT_EQ(stored["even"] + stored["odd"] + stored["lost"], kThreads * kOps);
  EXPECT_GT(stored["odd"], 0);
}

// What the analysis tells memory pressure by is there without the wrapper too.
TEST_F(SessionTest, TheProgramsOwnCountersAreSampled) {
  start();
  auto seen = samples();
  for (int i = 0; i < 600 && seen["own rss_bytes"] < 2; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    seen = samples();
  }
  stop();
  seen = samples();
  for (const char* name : {"own rss_bytes", "own cpu_user_ns", "own major_faults", "own threads",
                           "machine memory_available_bytes"}) {
    EXPECT_GE(seen[name], 2) << name;
  }
}

// Loaders start their workers anew each epoch: a ring that was drained goes to the next thread.
TEST_F(SessionTest, RingsOfEndedThreadsAreGivenBack) {
  start();
  const auto made = [] { return ring_registry().region().header->ring_count.load(); };
  int threads = 0;
  bool reused = false;
  while (!reused && threads < 5000) {
    const std::uint32_t before = made();
    std::thread([] { note_op("short"); }).join();
    ++threads;
    reused = made() == before;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(reused);
  stop();
  EXPECT_EQ(counts()["short"], threads);
}

TEST_F(SessionTest, MarksAndThreadsMayGoOnWhileItStops) {
  start();
  std::atomic<bool> done = false;
  std::thread marking([&] {
    while (!done) {
      const OpenPhase phase = Session::get().begin_phase(PhaseKind::kInput, "loader");
      note_op("op");
      Session::get().end_phase(phase, PhaseKind::kInput);
      Session::get().step();
    }
  });
  std::this_thread::sleep_for(milliseconds(50));
  stop();
  start();
  std::this_thread::sleep_for(milliseconds(50));
  stop();
  done = true;
  marking.join();
  EXPECT_GT(counts()["op"], 0);
}

TEST_F(SessionTest, AReaderSeesARunThatIsStillGoingOn) {
  start();
  note_op("early");
  bool seen = false;
  for (int tries = 0; tries < 500 && !seen; ++tries) {
    std::this_thread::sleep_for(milliseconds(10));
    seen = counts()["early"] == 1;
  }
  EXPECT_TRUE(seen);
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->being_recorded());
  stop();
}

// A binding to another language marks what no symbol name tells.
TEST_F(SessionTest, ABindingMarksItsOwnOptimizerAndBackward) {
  start();
  const stepscope_phase backward = stepscope_begin_backward();
  stepscope_end_backward(&backward);
  const stepscope_phase step = stepscope_begin_optimizer("Lion", 4);
  stepscope_end_optimizer(&step);
  stop();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto phases = (*reader)->phases();
  ASSERT_TRUE(phases.ok());
  ASSERT_EQ(phases->size(), 2U);
  EXPECT_EQ((*phases)[0].kind, PhaseKind::kBackward);
  EXPECT_EQ((*phases)[1].kind, PhaseKind::kOptimizer);
  EXPECT_EQ((*reader)->text((*phases)[1].name), "Lion");
}

// What runs in the closure of an optimizer step is not the optimizer's.
TEST_F(SessionTest, ABindingMarksClosuresAndZeroGrad) {
  start();
  const stepscope_phase step = stepscope_begin_optimizer("Adam", 4);
  const stepscope_phase closure = stepscope_begin_closure();
  note_op("forward");
  const stepscope_phase zero_grad = stepscope_begin_zero_grad();
  stepscope_end_zero_grad(&zero_grad);
  note_op("still forward");
  stepscope_end_closure(&closure);
  note_op("update");
  stepscope_end_optimizer(&step);
  stop();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto phases = (*reader)->phases();
  ASSERT_TRUE(phases.ok());
  ASSERT_EQ(phases->size(), 3U);
  EXPECT_EQ((*phases)[0].kind, PhaseKind::kOptimizer);
  EXPECT_EQ((*phases)[1].kind, PhaseKind::kForward);
  EXPECT_EQ((*reader)->text((*phases)[1].name), "closure");
  EXPECT_EQ((*phases)[2].kind, PhaseKind::kZeroGrad);
  std::map<std::string, PhaseKind, std::less<>> phase_of;
  const Status read = (*reader)->for_each_op([&](const Op& op) {
    phase_of[std::string((*reader)->text(op.name))] = op.phase;
    return true;
  });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(phase_of["forward"], PhaseKind::kForward);
  EXPECT_EQ(phase_of["still forward"], PhaseKind::kForward);
  EXPECT_EQ(phase_of["update"], PhaseKind::kOptimizer);
}

// An optimizer that calls another (a GradScaler does) steps once.
TEST_F(SessionTest, AnOptimizerInsideAnotherIsOneStep) {
  start();
  for (int i = 1; i <= 3; ++i) {
    const stepscope_phase outer = stepscope_begin_optimizer("GradScaler", 10);
    const stepscope_phase inner = stepscope_begin_optimizer("Adam", 4);
    stepscope_end_optimizer(&inner);
    stepscope_end_optimizer(&outer);
  }
  stop();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->meta("step_count"), "3");
}

// A binding that reports steps by optimizer learns nothing of a step that raises.
TEST_F(SessionTest, AStepThatRaisedEndsWhenItsOptimizerBeginsAnother) {
  start();
  int outer = 0, inner = 0;  // stand for optimizers
  stepscope_begin_optimizer_step(&outer, "Lookahead", 9);
  stepscope_begin_optimizer_step(&inner, "SGD", 3);  // raises
  stepscope_begin_optimizer_step(&outer, "Lookahead", 9);
  stepscope_begin_optimizer_step(&inner, "SGD", 3);
  stepscope_end_optimizer_step(&inner);
  stepscope_end_optimizer_step(&outer);
  stepscope_end_optimizer_step(&outer);  // has none open
  stop();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto phases = (*reader)->phases();
  ASSERT_TRUE(phases.ok());
  std::vector<std::pair<PhaseKind, std::string>> stored;
  for (const Phase& phase : *phases) stored.emplace_back(phase.kind, (*reader)->text(phase.name));
  EXPECT_THAT(stored,
              testing::UnorderedElementsAre(testing::Pair(PhaseKind::kScope, "Lookahead"),
                                            testing::Pair(PhaseKind::kScope, "SGD"),
                                            testing::Pair(PhaseKind::kOptimizer, "Lookahead"),
                                            testing::Pair(PhaseKind::kOptimizer, "SGD")));
  EXPECT_EQ((*reader)->meta("step_count"), "1");
}

TEST_F(SessionTest, OptimizersThatStepInsideEachOtherTooDeepAreNotMarked) {
  start();
  std::array<int, 9> optimizers{};
  for (const int& optimizer : optimizers) stepscope_begin_optimizer_step(&optimizer, "Nested", 6);
  for (auto inner = optimizers.rbegin(); inner != optimizers.rend(); ++inner)
    stepscope_end_optimizer_step(&*inner);
  stop();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto phases = (*reader)->phases();
  ASSERT_TRUE(phases.ok());
  EXPECT_EQ(phases->size(), 4U);
  EXPECT_EQ((*reader)->meta("step_count"), "1");
}

// The disk fills up in mid-run: recording stops, says so, and the program's result is what it was.
// It is not killed by SIGXFSZ either, which it never asked for.
TEST_F(SessionTest, AFullDiskStopsTheRecordingNotTheProgram) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4 << 20, 4 << 20};  // an empty store takes a third of it
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!Session::get().start(options_).ok()) _exit(1);
    for (int i = 0; i < 3'000'000 && Session::get().recording(); ++i) {
      ThreadRecorder* recorder = current_thread();
      recorder->start_op({&i, "op", -1, 0, OpScope::kFunction});
      recorder->end_op(&i);
      if (i % 10'000 == 0) std::this_thread::sleep_for(milliseconds(5));
    }
    const bool stopped_itself = !Session::get().recording();
    const bool said = !Session::get().stop().ok();
    _exit(stopped_itself && said ? 42 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(TraceReader::open(path_).ok()) << "what was written stays a valid store";
}

// So full that not even an empty store fits.
TEST_F(SessionTest, AFullDiskIsToldAtTheStart) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(Session::get().start(options_).ok() ? 1 : 42);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

std::int64_t step_now() { return ring_registry().region().header->step.load(); }

TEST_F(SessionTest, WhenTheThreadOfALoopHasEndedTheNextLoopCountsFromOne) {
  start();
  const auto train = [](int steps) {
    for (int i = 0; i < steps; ++i) Session::get().step();
  };
  std::thread(train, 30).join();
  EXPECT_EQ(step_now(), 31);
  // Gets the memory of the first thread, so that the second loop's has another address.
  std::atomic<bool> done{false};
  std::thread other([&done] { done.wait(false); });
  std::thread(train, 5).join();
  EXPECT_EQ(step_now(), 6);
  done = true;
  done.notify_all();
  other.join();
}

TEST_F(SessionTest, AnInnerLoaderThatEndsDoesNotEndTheStep) {
  start();
  Session& session = Session::get();
  for (int step = 1; step <= 3; ++step) {
    const OpenPhase outer = session.begin_phase(PhaseKind::kInput, "chained");
    const OpenPhase inner = session.begin_phase(PhaseKind::kInput, "first");
    session.end_phase(inner, PhaseKind::kInputEnd);
    session.end_phase(outer, PhaseKind::kInput);
    EXPECT_EQ(step_now(), step > 1 ? step : 0) << "0: no step has ended";
  }
}

}  // namespace
}  // namespace stepscope

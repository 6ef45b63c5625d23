// Recordings of a real libtorch loop through the public API, read back from the store.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stepscope/stepscope.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/ring/ring_format.h"
#include "store/trace_reader.h"
#include "tests/profiler/torch_program.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsSupersetOf;

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    torch::set_num_threads(1);
    const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("stepscope-" + std::string(info.name()) + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~RecordingTest() override { std::filesystem::remove_all(folder_); }

  Options options(const char* file = "run.db") const {
    Options options;
    options.output = (folder_ / file).string();
    options.budget = 0;  // ops in every step
    return options;
  }

  // What a finished recording holds.
  struct Stored {
    std::unique_ptr<TraceReader> reader;
    std::vector<Op> ops;
    std::vector<Phase> phases;
    std::vector<Phase> op_switches;
    std::vector<Loss> losses;

    std::string name(const Op& op) const { return std::string(reader->text(op.name)); }
    std::int64_t count(PhaseKind kind) const {
      return std::count_if(phases.begin(), phases.end(),
                           [&](const Phase& p) { return p.kind == kind; });
    }
    std::multiset<std::string> op_names() const {
      std::multiset<std::string> names;
      for (const Op& op : ops) names.insert(name(op));
      return names;
    }
  };
  static Stored read(const Options& options) {
    Stored stored;
    auto reader = TraceReader::open(options.output);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    stored.reader = std::move(*reader);
    const Status status = stored.reader->for_each_op([&](const Op& op) {
      stored.ops.push_back(op);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    const auto phases = stored.reader->phases();
    for (const Phase& phase : *phases) {
      const bool is_switch = phase.kind == PhaseKind::kOpsBegin || phase.kind == PhaseKind::kOpsEnd;
      (is_switch ? stored.op_switches : stored.phases).push_back(phase);
    }
    stored.losses = *stored.reader->losses();
    return stored;
  }

  std::filesystem::path folder_;
};

TEST_F(RecordingTest, AStepIsSeenWholeWithoutMarks) {
  SmallTraining training;
  const auto batches = SmallTraining::batches(5);
  {
    Recording recording(options());
    ASSERT_TRUE(recording.ok()) << recording.error();
    for (const auto& batch : input(batches, "batches")) training.step(batch);
  }
  const Stored run = read(options());
  EXPECT_EQ(run.count(PhaseKind::kInput), 5);
  EXPECT_EQ(run.count(PhaseKind::kInputEnd), 1);
  EXPECT_EQ(run.count(PhaseKind::kBackward), 5) << "Engine::execute is interposed";
  EXPECT_EQ(run.count(PhaseKind::kOptimizer), 5) << "Adam::step is interposed";
  EXPECT_EQ(run.count(PhaseKind::kZeroGrad), 5);
  EXPECT_THAT(run.op_names(), IsSupersetOf({"aten::addmm", "aten::relu", "aten::mean"}));
  EXPECT_TRUE(run.losses.empty());
  EXPECT_EQ(run.reader->meta("state"), "complete");
  EXPECT_EQ(run.reader->meta("torch_version"), TORCH_VERSION);
  EXPECT_GT(run.reader->meta_int("leaf_op_overhead_ns", 0), 0);
  EXPECT_EQ(run.reader->meta_int("step_count", 0), 5);
}

// Programs set it after the recording began, and may change their mind.
TEST_F(RecordingTest, CudnnsBenchmarkModeIsToldAsTheLastStepHadIt) {
  SmallTraining training;
  const auto batches = SmallTraining::batches(4);
  const auto mode_after = [&](bool first, bool then) {
    at::globalContext().setBenchmarkCuDNN(!first);
    {
      Recording recording(options());
      int step = 0;
      for (const auto& batch : batches) {
        at::globalContext().setBenchmarkCuDNN(step++ < 2 ? first : then);
        training.step(batch);
      }
    }
    at::globalContext().setBenchmarkCuDNN(false);
    return read(options()).reader->meta("cudnn_benchmark");
  };
  EXPECT_EQ(mode_after(false, true), "on");
  EXPECT_EQ(mode_after(true, false), "off");
}

TEST_F(RecordingTest, CudnnsBenchmarkModeIsToldOfALoopWithoutSteps) {
  const at::Tensor images = at::rand({1, 3, 8, 8}), weights = at::rand({4, 3, 3, 3});
  {
    Recording recording(options());
    at::rand({1});  // as a program makes its weights
    at::globalContext().setBenchmarkCuDNN(true);
    for (int call = 0; call < 3; ++call) at::conv2d(images, weights);
  }
  at::globalContext().setBenchmarkCuDNN(false);
  EXPECT_EQ(read(options()).reader->meta("cudnn_benchmark"), "on");
}

TEST_F(RecordingTest, OpsKnowTheirPhaseAndTheirForward) {
  SmallTraining training;
  const auto batches = SmallTraining::batches(3);
  {
    Recording recording(options());
    for (const auto& batch : input(batches)) training.step(batch);
  }
  const Stored run = read(options());
  std::map<std::string, std::set<PhaseKind>> phases;
  std::set<std::int64_t> forward_sequences;
  std::set<std::int64_t> backward_sequences;
  for (const Op& op : run.ops) {
    phases[run.name(op)].insert(op.phase);
    const bool backward = op.scope == OpScope::kBackwardFunction;
    (backward ? backward_sequences : forward_sequences).insert(op.sequence);
    if (backward) {
      EXPECT_EQ(op.phase, PhaseKind::kBackward) << run.name(op);
    }
  }
  EXPECT_THAT(phases["aten::addmm"], testing::ElementsAre(PhaseKind::kForward));
  EXPECT_THAT(phases["aten::addcdiv_"], testing::ElementsAre(PhaseKind::kOptimizer));
  backward_sequences.erase(-1);
  EXPECT_FALSE(backward_sequences.empty());
  EXPECT_TRUE(std::includes(forward_sequences.begin(), forward_sequences.end(),
                            backward_sequences.begin(), backward_sequences.end()))
      << "each autograd node leads to its forward op";
}

// libtorch sets the callbacks of a thread for each node of a backward pass. Where that changes
// nothing it is left out while ops are recorded; these are the cases in which it does.
TEST_F(RecordingTest, ACallbackOfTheProgramSeesWhatItSeesWithoutUs) {
  SmallTraining training;
  const auto batch = SmallTraining::batches(1).at(0);
  static std::atomic<int> seen;
  const auto nodes_seen = [&] {
    seen = 0;
    const auto handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              ++seen;
              return nullptr;
            },
            [](const at::RecordFunction&, at::ObserverContext*) {})
            .scopes({at::RecordScope::BACKWARD_FUNCTION}));
    training.step(batch);
    at::removeCallback(handle);
    return seen.load();
  };
  const int without = nodes_seen();
  EXPECT_GT(without, 0);
  Recording recording(options());
  training.step(batch);
  EXPECT_EQ(nodes_seen(), without);
}

TEST_F(RecordingTest, WhatTheProgramKeepsFromBeingRecordedIsNot) {
  const at::Tensor x = at::ones({4}).requires_grad_();
  {
    Recording recording(options());
    x.mul(x).sum().backward();
    const at::Tensor loss = x.mul(x).sum();
    {
      const at::RecordFunctionGuard off(/*is_enabled=*/false);
      loss.backward();
    }
    x.mul(x).sum().backward();
  }
  const Stored run = read(options());
  EXPECT_GE(run.op_names().count("aten::sum"), 3U) << "all forward passes";
  EXPECT_EQ(run.op_names().count("MulBackward0"), 2U);
}

TEST_F(RecordingTest, SettingTheStateOfAThreadComesByUs) {
  const void* const symbol =
      dlsym(RTLD_DEFAULT, "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");
  Dl_info found{};
  ASSERT_NE(symbol, nullptr);
  ASSERT_NE(dladdr(symbol, &found), 0);
  EXPECT_THAT(found.dli_fname, HasSubstr("libstepscope"));
}

TEST_F(RecordingTest, OpsNestWithinTheirThread) {
  SmallTraining training;
  {
    Recording recording(options());
    for (const auto& batch : SmallTraining::batches(3)) training.step(batch);
  }
  Stored run = read(options());
  ASSERT_FALSE(run.ops.empty());
  std::map<std::uint8_t, Op> last_at_depth;  // ops come in the order of their ends
  for (const Op& op : run.ops) {
    EXPECT_LE(op.self, op.dur);
    const auto child = last_at_depth.find(static_cast<std::uint8_t>(op.depth + 1));
    if (child != last_at_depth.end() && child->second.start >= op.start) {
      EXPECT_LE(child->second.start + child->second.dur, op.start + op.dur);
      EXPECT_LT(op.self, op.dur) << run.name(op) << " has a child";
    }
    last_at_depth[op.depth] = op;
  }
}

TEST_F(RecordingTest, InputWaitsAreMeasuredWhereverALoaderFetches) {
  // Fetches when the iterator is advanced; the first element when it is made.
  struct SlowRange {
    struct Iterator {
      int i;
      int operator*() const { return i; }
      Iterator& operator++() {
        ++i;
        std::this_thread::sleep_for(milliseconds(2));
        return *this;
      }
      bool operator!=(const Iterator& other) const { return i != other.i; }
    };
    Iterator begin() const { return {0}; }
    Iterator end() const { return {5}; }
  };
  {
    Recording recording(options());
    for (const int i : input(SlowRange{}, "slow")) (void)i;
  }
  const Stored run = read(options());
  ASSERT_EQ(run.count(PhaseKind::kInput), 5);
  for (std::size_t i = 1; i < run.phases.size(); ++i) {
    const Phase& wait = run.phases[i];
    EXPECT_EQ(run.reader->text(wait.name), "slow");
    EXPECT_GE(wait.dur, milliseconds(2));
    EXPECT_LT(wait.cpu, wait.dur) << "asleep, not busy";
  }
}

TEST_F(RecordingTest, AScopeAndStepsAreMarked) {
  {
    Recording recording(options());
    for (int i = 0; i < 3; ++i) {
      const Scope scope("evaluation");
      step();
    }
  }
  const Stored run = read(options());
  EXPECT_EQ(run.count(PhaseKind::kStep), 3);
  ASSERT_EQ(run.count(PhaseKind::kScope), 3);
  EXPECT_EQ(run.reader->meta_int("step_count", 0), 3);
}

TEST_F(RecordingTest, LengthsAreScopesThatHoldAllOfThem) {
  std::vector<int> many(1000);
  std::iota(many.begin(), many.end(), 0);
  {
    Recording recording(options());
    lengths(many);
    lengths(std::vector<std::size_t>{7}, 128);
    lengths(std::vector<int>{});
  }
  const Stored run = read(options());
  std::string all;
  for (const Phase& phase : run.phases) all += std::string(run.reader->text(phase.name)) + "; ";
  std::string expected = "lengths";
  for (const int length : many) {
    const std::string word = " " + std::to_string(length);
    if (expected.size() - expected.rfind("lengths") + word.size() > 1900) expected += "; lengths";
    expected += word;
  }
  EXPECT_EQ(all, expected + "; lengths/128 7; ");
}

// The marks say exactly in which steps: there are as many ops as these steps have.
TEST_F(RecordingTest, WithinABudgetSomeStepsHaveAllOfTheirOps) {
  SmallTraining training;
  Options within = options();
  within.budget = 0.02;
  const auto batches = SmallTraining::batches(400);
  {
    Recording recording(within);
    for (const auto& batch : input(batches)) training.step(batch);
  }
  const Stored run = read(within);
  std::vector<SessionTime> begins;
  for (const Phase& phase : run.phases) {
    if (phase.kind == PhaseKind::kInput) begins.push_back(phase.start);
  }
  ASSERT_EQ(begins.size(), 400U);
  std::size_t op_steps = 0;
  SessionTime recorded_since = SessionTime::max();
  for (const Phase& mark : run.op_switches) {
    if (mark.kind == PhaseKind::kOpsBegin) recorded_since = mark.start;
    if (mark.kind != PhaseKind::kOpsEnd) continue;
    op_steps += static_cast<std::size_t>(std::count_if(
        begins.begin(), begins.end(),
        [&](SessionTime begin) { return begin >= recorded_since && begin < mark.start; }));
    recorded_since = SessionTime::max();
  }
  op_steps += static_cast<std::size_t>(std::count_if(
      begins.begin(), begins.end(), [&](SessionTime begin) { return begin >= recorded_since; }));
  EXPECT_GE(op_steps, 30U);
  EXPECT_LE(op_steps, 340U) << "some have none, so that the cost is known";
  EXPECT_EQ(run.op_names().count("aten::addmm"), 2 * op_steps) << "two layers a step";
}

TEST_F(RecordingTest, ABudgetIsAShareOfTheRunsTime) {
  Options wrong = options();
  for (const double budget : {-0.1, 1.5, std::nan("")}) {
    wrong.budget = budget;
    const Recording recording(wrong);
    EXPECT_NE(recording.error().find("the budget is a share of the run's time, from 0 to 1"),
              std::string::npos)
        << recording.error();
  }
}

TEST_F(RecordingTest, OutsideTheWindowOnlyPhasesAreRecorded) {
  SmallTraining training;
  Options windowed = options();
  windowed.window = {4, 5};
  const auto batches = SmallTraining::batches(8);
  {
    Recording recording(windowed);
    for (const auto& batch : input(batches)) training.step(batch);
  }
  const Stored run = read(windowed);
  std::vector<Phase> waits;
  std::copy_if(run.phases.begin(), run.phases.end(), std::back_inserter(waits),
               [](const Phase& phase) { return phase.kind == PhaseKind::kInput; });
  ASSERT_EQ(waits.size(), 8U);
  ASSERT_FALSE(run.ops.empty());
  for (const Op& op : run.ops) {
    EXPECT_GE(op.start, waits[3].start) << "step 4 begins with its wait";
    EXPECT_LT(op.start, waits[5].start) << "step 6 is outside";
  }
  const auto steps_with_addmm = run.op_names().count("aten::addmm");
  EXPECT_EQ(steps_with_addmm, 2U * 2U) << "two layers in two steps";
  EXPECT_EQ(run.reader->meta("window"), "4-5");
}

TEST_F(RecordingTest, ShapesOnlyOnRequest) {
  Options with_shapes = options();
  with_shapes.shapes = true;
  {
    Recording recording(with_shapes);
    (void)at::mm(at::ones({2, 3}), at::ones({3, 5}));
  }
  const Stored run = read(with_shapes);
  const auto mm = std::find_if(run.ops.begin(), run.ops.end(),
                               [&](const Op& op) { return run.name(op) == "aten::mm"; });
  ASSERT_NE(mm, run.ops.end());
  EXPECT_EQ(run.reader->text(mm->shapes), "[[2,3],[3,5]]");

  {
    Recording recording(options("plain.db"));
    (void)at::mm(at::ones({2, 3}), at::ones({3, 5}));
  }
  for (const Op& op : read(options("plain.db")).ops) EXPECT_EQ(op.shapes, StringId::kNone);
}

TEST_F(RecordingTest, EveryThreadIsSeen) {
  {
    Recording recording(options());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int op = 0; op < 100; ++op) (void)at::ones({1}).neg();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  const Stored run = read(options());
  std::map<ThreadId, int> negs;
  for (const Op& op : run.ops) negs[op.thread] += run.name(op) == "aten::neg" ? 1 : 0;
  std::erase_if(negs, [](const auto& one) { return one.second == 0; });
  EXPECT_EQ(negs.size(), 4U);
  for (const auto& [thread, count] : negs) EXPECT_EQ(count, 100);
}

TEST_F(RecordingTest, RecordingsFollowOneAnother) {
  for (const char* file : {"one.db", "two.db"}) {
    {
      Recording recording(options(file));
      ASSERT_TRUE(recording.ok()) << recording.error();
      (void)at::ones({1}).neg();
    }
    EXPECT_EQ(read(options(file)).op_names().count("aten::neg"), 1U) << file;
  }
}

TEST_F(RecordingTest, NothingIsRecordedAfterTheStop) {
  Recording recording(options());
  (void)at::ones({1}).neg();
  recording.stop();
  recording.stop();
  (void)at::ones({1}).neg();
  EXPECT_EQ(read(options()).op_names().count("aten::neg"), 1U);
}

TEST_F(RecordingTest, TwoAtOnceAreRefused) {
  Recording first(options("first.db"));
  ASSERT_TRUE(first.ok());
  {
    Recording second(options("second.db"));
    EXPECT_THAT(second.error(), HasSubstr("second.db"));
    EXPECT_THAT(second.error(), HasSubstr("first.db is running"));
  }
  EXPECT_FALSE(std::filesystem::exists(options("second.db").output));
  (void)at::ones({1}).neg();
  first.stop();
  EXPECT_EQ(read(options("first.db")).op_names().count("aten::neg"), 1U)
      << "the first goes on undisturbed";
}

TEST_F(RecordingTest, AnUnwritablePathIsOneLineAndTheProgramGoesOn) {
  Recording recording(options("no/such/folder/run.db"));
  EXPECT_FALSE(recording.ok());
  EXPECT_THAT(recording.error(), HasSubstr("no/such/folder/run.db"));
  EXPECT_EQ(std::count(recording.error().begin(), recording.error().end(), '\n'), 0);
  EXPECT_EQ(at::ones({1}).neg().item<float>(), -1.0F);
}

TEST_F(RecordingTest, AWindowThatEndsBeforeItBeginsIsRefused) {
  Options backwards = options();
  backwards.window = {520, 500};
  const Recording recording(backwards);
  EXPECT_THAT(recording.error(), HasSubstr("520-500"));
}

// A ring of the smallest size, which a burst overruns: what was dropped is in the store. On a
// thread of its own, because a thread keeps the ring it has.
TEST_F(RecordingTest, LossesAreStored) {
  Options small = options();
  small.ring_bytes = 1;
  {
    Recording recording(small);
    std::thread burst([] {
      const at::Tensor value = at::ones({1});
      for (int i = 0; i < 200'000; ++i) value.neg_();
    });
    burst.join();
  }
  const Stored run = read(small);
  std::int64_t lost = 0;
  for (const Loss& loss : run.losses) lost += loss.kind == "op" ? loss.count : 0;
  EXPECT_GT(lost, 0);
  EXPECT_EQ(static_cast<std::int64_t>(run.op_names().count("aten::neg_")) + lost, 200'000);
}

// The child of a fork has no recorder: it records nothing, harms nothing, and ends as it would.
TEST_F(RecordingTest, AForkedChildLeavesTheRecordingAlone) {
  {
    Recording recording(options());
    const pid_t child = fork();
    if (child == 0) {
      recording.stop();
      _exit(stepscope_is_recording() == 0 ? 42 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
    (void)at::ones({1}).neg();
  }
  EXPECT_EQ(read(options()).op_names().count("aten::neg"), 1U);
}

}  // namespace
}  // namespace stepscope

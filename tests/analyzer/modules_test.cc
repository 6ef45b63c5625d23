#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/modules/find_modules.h"
#include "store/time.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 9> kTexts = {
    "",          "Net",         "layer.0",        "layer.1",
    "Linear",    "aten::addmm", "AddmmBackward0", "AccumulateGrad",
    "aten::view"};
StringId id_of(std::string_view text) {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (kTexts[i] == text) return static_cast<StringId>(i);
  }
  return StringId::kNone;
}

// One loop of one thread, whose steps take 1,000 ns each.
class Training {
 public:
  explicit Training(std::int64_t steps) {
    StoredThread thread;
    thread.id = ThreadId{1};
    thread.process = ProcessId{1};
    thread.torch_id = 7;
    run.threads = {thread};
    run.text = [](StringId id) { return kTexts.at(static_cast<std::size_t>(id)); };
    run.for_each_op = [this](const RecordedRun::OpVisitor& visit) {
      for (const Op& op : ops) visit(op);
      return Status();
    };
    run.for_each_module_call = [this](const auto& visit) {
      for (const ModuleCall& call : calls) visit(call);
      return Status();
    };
    report.process = ProcessId{1};
    for (std::int64_t i = 0; i < steps; ++i) {
      Step step;
      step.thread = ThreadId{1};
      step.start = session_time(1000 * i);
      step.dur = Duration(1000);
      report.steps.push_back(step);
      report.op_steps.push_back(static_cast<std::size_t>(i));
    }
  }

  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void call(std::string_view name, std::int64_t from, std::int64_t to, int depth,
            PhaseKind phase = PhaseKind::kForward, std::int64_t held = 0) {
    ModuleCall call;
    call.thread = ThreadId{1};
    call.root = id_of("Net");
    call.name = name.empty() ? StringId::kNone : id_of(name);
    call.class_name = name.empty() ? id_of("Net") : id_of("Linear");
    call.start = session_time(from);
    call.dur = Duration(to - from);
    call.depth = static_cast<std::uint8_t>(depth);
    call.phase = phase;
    call.held_bytes = held;
    calls.push_back(call);
  }

  void op(std::string_view name, std::int64_t from, std::int64_t to, std::int64_t sequence) {
    Op op;
    op.thread = ThreadId{1};
    op.name = id_of(name);
    op.start = session_time(from);
    op.dur = Duration(to - from);
    op.sequence = sequence;
    ops.push_back(op);
  }

  void node(std::string_view name, std::int64_t from, std::int64_t to, std::int64_t sequence) {
    op(name, from, to, sequence);
    ops.back().scope = OpScope::kBackwardFunction;
    ops.back().forward_thread = 7;
  }

  // By name.
  ModuleTime of(std::string_view name) {
    const auto history = ModuleHistory::read(run);
    EXPECT_TRUE(history.ok());
    EXPECT_TRUE(find_modules(run, {}, *history, report).ok());
    for (const ModuleTime& module : report.modules) {
      if (module.name == name) return module;
    }
    ADD_FAILURE() << "no module " << name;
    return {};
  }

  std::vector<std::string> names() {
    (void)of("");
    std::vector<std::string> names;
    for (const ModuleTime& module : report.modules) names.push_back(module.name);
    return names;
  }

  RecordedRun run;
  LoopReport report;
  std::vector<Op> ops;
  std::vector<ModuleCall> calls;
};

// Forward: layer.0 [100, 200), layer.1 [250, 400) in Net [50, 450).
class TwoLayers : public Training {
 public:
  TwoLayers() : Training(1) {
    call("layer.0", 100, 200, 1, PhaseKind::kForward, 4096);
    call("layer.1", 250, 400, 1, PhaseKind::kForward, 8192);
    call("", 50, 450, 0, PhaseKind::kForward, 16384);
  }
};

TEST(Modules, FormATreeWithTheContainersThatAreNeverCalled) {
  TwoLayers training;
  EXPECT_EQ(training.names(), (std::vector<std::string>{"", "layer", "layer.0", "layer.1"}));
  EXPECT_EQ(training.of("layer").class_name, "");
  EXPECT_EQ(training.of("layer").calls, 0);
  EXPECT_EQ(training.of("layer").forward, Duration(250));
  EXPECT_EQ(training.of("layer").held_bytes, 12288);
}

TEST(Modules, ForwardTimeIncludesOrLeavesOutWhatIsCalledInside) {
  TwoLayers training;
  EXPECT_EQ(training.of("").forward, Duration(400));
  EXPECT_EQ(training.of("").forward_self, Duration(150));
  EXPECT_EQ(training.of("layer.1").forward, Duration(150));
  EXPECT_EQ(training.of("layer.1").forward_self, Duration(150));
  EXPECT_EQ(training.of("").held_bytes, 16384);
}

TEST(Modules, OfSeveralOpsWithANumberTheLastMadeTheNode) {
  TwoLayers training;
  training.op("aten::view", 110, 120, 3);   // in layer.0, made no node
  training.op("aten::addmm", 260, 300, 3);  // in layer.1
  training.op("aten::addmm", 460, 470, 4);  // outside of any module, as a loss is
  training.node("AddmmBackward0", 600, 610, 4);
  training.node("AddmmBackward0", 620, 650, 3);
  training.node("AccumulateGrad", 660, 665, -1);  // of the node before it
  EXPECT_EQ(training.of("layer.0").backward, Duration(0));
  EXPECT_EQ(training.of("layer.1").backward, Duration(35));
  EXPECT_EQ(training.of("layer").backward, Duration(35));
  EXPECT_EQ(training.of("").backward, Duration(35));
  EXPECT_EQ(training.of("").backward_self, Duration(0));
  EXPECT_EQ(training.of("").ops, 2);
}

TEST(Modules, ANodeInsideANodeCountsOnce) {
  TwoLayers training;
  training.op("aten::addmm", 110, 150, 3);
  training.node("AddmmBackward0", 620, 640, 3);
  training.node("AddmmBackward0", 610, 650, 3);  // around it
  EXPECT_EQ(training.of("layer.0").backward, Duration(40));
}

TEST(Modules, ARecomputationIsNoForwardPass) {
  TwoLayers training;
  training.call("layer.0", 700, 800, 0, PhaseKind::kBackward);
  EXPECT_EQ(training.of("layer.0").calls, 2);
  EXPECT_EQ(training.of("layer.0").recomputed, 1);
  EXPECT_EQ(training.of("layer.0").forward, Duration(100));
}

TEST(Modules, FiguresAreMeansOverTheStepsWithOps) {
  Training training(4);
  training.report.op_steps = {1, 2};
  for (const std::int64_t begin : {0, 1000, 2000, 3000})
    training.call("", begin + 10, begin + 110, 0);
  EXPECT_EQ(training.of("").calls, 1);
  EXPECT_EQ(training.of("").steps, 2);
  EXPECT_EQ(training.of("").forward, Duration(100));
}

TEST(Modules, TheCostOfRecordingIsTakenOut) {
  TwoLayers training;
  training.op("aten::addmm", 110, 150, 3);
  training.report.recording.removed = true;
  training.report.recording.ops.per_step_ns = 100;  // of 1 op and 3 calls, as much as 25 ops
  EXPECT_EQ(training.of("layer.0").forward, Duration(96));
  EXPECT_EQ(training.of("").forward, Duration(400 - 4 * 17));
}

// Of a node these are itself and what runs inside it, not the forward pass before it.
TEST(Modules, TheCostOfANodesOwnOpsIsTakenOut) {
  TwoLayers training;
  training.op("aten::addmm", 110, 150, 3);
  for (std::int64_t i = 0; i < 6; ++i) training.op("aten::view", 500 + 10 * i, 505 + 10 * i, -1);
  training.op("aten::addmm", 630, 640, -1);
  training.node("AddmmBackward0", 620, 660, 3);
  training.report.recording.removed = true;
  training.report.recording.ops.per_step_ns = 33;  // 9 ops, and 3 calls as much as 24
  EXPECT_EQ(training.of("layer.0").backward_self, Duration(40 - 2));
}

TEST(Modules, AModuleThatCallsItselfCountsWhatIsInsideOnce) {
  Training training(1);
  training.call("layer.0", 110, 190, 2);
  training.call("layer.0", 100, 200, 1);
  training.call("", 50, 450, 0);
  training.op("aten::addmm", 120, 150, -1);
  training.report.recording.removed = true;
  training.report.recording.ops.per_step_ns = 25;  // 1 op, and 3 calls as much as 24
  EXPECT_EQ(training.of("layer.0").calls, 2);
  EXPECT_EQ(training.of("layer.0").ops, 1);
  EXPECT_EQ(training.of("layer.0").forward, Duration(100 - 1 - 8));
  EXPECT_EQ(training.of("").forward, Duration(400 - 1 - 16));
}

TEST(Modules, WithoutCallsThereIsNothing) {
  Training training(1);
  const auto history = ModuleHistory::read(training.run);
  ASSERT_TRUE(history.ok());
  ASSERT_TRUE(find_modules(training.run, {}, *history, training.report).ok());
  EXPECT_TRUE(training.report.modules.empty());
}

}  // namespace
}  // namespace stepscope

// The replay of graphs, and changes to them, whose answers are known by their making.
#include "analyzer/simulate/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analyzer/simulate/what_if.h"
#include "store/limits.h"

namespace stepscope::testing {
namespace {

constexpr Lane kStream = 7, kOtherStream = 8;

// Writes a graph down, step by step.
class GraphBuilder {
 public:
  GraphBuilder() {
    graph_.lanes = 9;
    graph_.streams = {kStream, kOtherStream};
  }

  Task& add(Lane lane, std::int64_t dur, Category category = Category::kCompute,
            Lane awaits = kNoLane) {
    Task task;
    task.lane = lane;
    task.dur_ns = dur;
    task.category = category;
    task.awaits = awaits;
    task.step = static_cast<std::uint32_t>(graph_.steps.size());
    graph_.tasks.push_back(task);
    return graph_.tasks.back();
  }
  void host(std::int64_t dur, Category category = Category::kCompute) {
    add(kLoopLane, dur, category);
  }
  void kernel(std::int64_t dur, Lane stream = kStream) {
    add(stream, dur, Category::kCompute, kLoopLane).kind = TaskKind::kKernel;
  }
  void wait_for(Lane lane) { add(kLoopLane, 0, Category::kSync, lane).kind = TaskKind::kWait; }
  void end_step() { graph_.steps.push_back(graph_.steps.size()); }

  // `warm_up` steps of it are not counted.
  StepGraph take(std::size_t warm_up = 0) {
    graph_.first_counted = warm_up;
    return std::move(graph_);
  }

 private:
  StepGraph graph_;
};

// `steps` × (a wait of `input`, then `rest`).
StepGraph loader_loop(int steps, const std::function<std::int64_t(int)>& input, std::int64_t rest) {
  GraphBuilder builder;
  for (int i = 0; i < steps; ++i) {
    builder.host(input(i), Category::kInput);
    builder.host(rest);
    builder.end_step();
  }
  return builder.take(static_cast<std::size_t>(steps) / 2);
}

TEST(Replay, TakesTheLongerOfHostAndStream) {
  for (const std::int64_t kernel : {10, 90, 400}) {
    GraphBuilder builder;
    for (int i = 0; i < 10; ++i) {
      builder.host(100);
      builder.kernel(kernel);
      builder.host(50);
      builder.wait_for(kStream);
      builder.end_step();
    }
    EXPECT_DOUBLE_EQ(replay(builder.take(1)).mean(),
                     static_cast<double>(100 + std::max<std::int64_t>(50, kernel)))
        << kernel;
  }
}

TEST(Replay, KernelsOfTwoStreamsRunTogether) {
  GraphBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.host(10);
    builder.kernel(300);
    builder.kernel(200, kOtherStream);
    builder.wait_for(kStream);
    builder.wait_for(kOtherStream);
    builder.end_step();
  }
  const Replay result = replay(builder.take(1));
  EXPECT_DOUBLE_EQ(result.mean(), 310);
  ASSERT_EQ(result.exposed.size(), 9U);
  for (const auto& exposed : result.exposed) {
    EXPECT_DOUBLE_EQ(exposed[static_cast<std::size_t>(Category::kCompute)], 310)
        << "what is waited for is what the stream does";
  }
}

// A program may make a stream for each batch.
TEST(Replay, HasALaneForEachOfManyStreams) {
  constexpr int kStreams = 70'000;
  StepGraph graph;
  for (int i = 0; i < kStreams; ++i) {
    const Lane lane = add_lane(graph);
    graph.streams.push_back(lane);
    Task kernel;
    kernel.lane = lane;
    kernel.dur_ns = 1;
    kernel.kind = TaskKind::kKernel;
    kernel.category = Category::kCompute;
    graph.tasks.push_back(kernel);
  }
  graph.steps.push_back(0);
  EXPECT_EQ(graph.streams.back(), kFirstFreeLane + Lane{kStreams} - 1);
  EXPECT_EQ(replay(graph).steps.size(), 1U);
}

TEST(Replay, AHostThatOnlyEnqueuesIsAsSlowAsItsDevice) {
  GraphBuilder builder;
  for (int i = 0; i < 50; ++i) {
    builder.host(10);
    builder.kernel(100);
    builder.end_step();
  }
  EXPECT_NEAR(replay(builder.take(10)).mean(), 100, 1e-9);
}

TEST(Replay, OfMoreTimeThanCanBeCountedEndsAtTheLastThatCan) {
  GraphBuilder builder;
  for (int i = 0; i < 3; ++i) {
    builder.host(std::int64_t{1} << 62);
    builder.end_step();
  }
  const Replay replayed = replay(builder.take());
  ASSERT_EQ(replayed.steps.size(), 3U);
  EXPECT_EQ(replayed.steps[0] + replayed.steps[1] + replayed.steps[2],
            static_cast<double>(INT64_MAX));
}

TEST(ScaleOps, ToMoreThanAnyTimeIsTheLongestThereIs) {
  EXPECT_EQ(scaled(1'000'000'000, 1e30), kMaxInAll);
  EXPECT_EQ(scaled(1'000, 0.25), 250);
}

TEST(Replay, ALaunchTakesItsLatency) {
  GraphBuilder builder;
  builder.host(10);
  builder.add(kStream, 50, Category::kCompute, kLoopLane).lag_ns = 7;
  builder.wait_for(kStream);
  builder.end_step();
  EXPECT_DOUBLE_EQ(replay(builder.take()).mean(), 67);
}

TEST(InputOnWorkers, OneWorkerMakesItTheLongerOfTheTwo) {
  for (const std::int64_t input : {20, 100, 180, 500}) {
    StepGraph graph = loader_loop(60, [&](int) { return input; }, 100);
    EXPECT_DOUBLE_EQ(replay(graph).mean(), static_cast<double>(input + 100));
    input_on_workers(graph, 1);
    EXPECT_DOUBLE_EQ(replay(graph).mean(), static_cast<double>(std::max<std::int64_t>(input, 100)));
  }
}

TEST(InputOnWorkers, WorkersShareTheBatches) {
  for (int workers = 1; workers <= 8; ++workers) {
    StepGraph graph = loader_loop(240, [](int) { return 840; }, 100);
    input_on_workers(graph, workers);
    EXPECT_NEAR(replay(graph).mean(), std::max(100.0, 840.0 / workers), 1.0) << workers;
  }
}

// The op that makes a batch of what was read is no input where input is inferred; the rest of the
// wait follows it.
TEST(InputOnWorkers, TheWaitsOfAStepMayBeForOneBatch) {
  for (int workers = 1; workers <= 8; ++workers) {
    GraphBuilder builder;
    for (int step = 0; step < 240; ++step) {
      builder.host(830, Category::kInput);
      builder.host(1);
      builder.host(10, Category::kInput);
      builder.host(99);
      builder.end_step();
    }
    StepGraph graph = builder.take(120);
    input_on_workers(graph, workers, {}, true);
    EXPECT_NEAR(replay(graph).mean(), std::max(100.0, 840.0 / workers), 1.0) << workers;
  }
}

TEST(InputOnWorkers, HandingOverABatchTakesTimeOfBoth) {
  const HandOver cost{.worker_ns = 30, .loop_ns = 7};
  StepGraph graph = loader_loop(240, [](int) { return 50; }, 100);
  input_on_workers(graph, 1, cost);
  EXPECT_DOUBLE_EQ(replay(graph).mean(), 107) << "the loop is the slower one";
  graph = loader_loop(240, [](int) { return 370; }, 100);
  input_on_workers(graph, 2, cost);
  EXPECT_NEAR(replay(graph).mean(), 200, 1.0) << "the workers are";
}

// Two batches a worker ahead: enough for a batch that takes long, not for ten in a row.
TEST(InputOnWorkers, AQueueEvensOutASlowBatch) {
  const auto mean_with = [](const std::function<std::int64_t(int)>& input) {
    StepGraph graph = loader_loop(400, input, 100);
    input_on_workers(graph, 2);
    return replay(graph).mean();
  };
  EXPECT_DOUBLE_EQ(mean_with([](int i) { return i % 20 == 0 ? 300 : 50; }), 100);
  EXPECT_GT(mean_with([](int i) { return i % 20 < 10 ? 400 : 10; }), 120);
}

TEST(InputOnWorkers, IsNeverSlowerThanWithoutNorFasterThanTheRest) {
  std::mt19937 random(3);
  for (int run = 0; run < 200; ++run) {
    const auto rest = static_cast<std::int64_t>(random() % 1000 + 1);
    std::vector<std::int64_t> waits(100);
    for (auto& wait : waits) wait = static_cast<std::int64_t>(random() % 2000);
    StepGraph graph =
        loader_loop(100, [&](int i) { return waits[static_cast<std::size_t>(i)]; }, rest);
    const double before = replay(graph).mean();
    double last = before;
    for (int workers = 1; workers <= 4; ++workers) {
      StepGraph changed = graph;
      input_on_workers(changed, workers);
      const double with = replay(changed).mean();
      EXPECT_GE(with, static_cast<double>(rest));
      // A batch or two of difference at either end of what is counted.
      EXPECT_LE(with, last + 2 * 2000.0 / 50);
      last = with;
    }
  }
}

TEST(ScaleOps, OffTheCriticalPathSavesNothing) {
  OpPaths paths;
  const StringId fast{1}, slow{2};
  const OpPath in_fast = paths.inside(OpPath::kTop, fast);
  const OpPath in_slow = paths.inside(paths.inside(OpPath::kTop, slow), StringId{3});
  GraphBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.host(10, Category::kLaunch);
    builder.kernel(300);
    builder.add(kOtherStream, 200, Category::kCompute, kLoopLane).kind = TaskKind::kKernel;
    builder.wait_for(kStream);
    builder.wait_for(kOtherStream);
    builder.end_step();
  }
  StepGraph graph = builder.take(1);
  for (Task& task : graph.tasks) {
    if (task.lane == kStream) task.path = in_slow;
    if (task.lane == kOtherStream) task.path = in_fast;
  }
  const auto mean_with = [&](StringId op, double factor) {
    StepGraph changed = graph;
    const auto inside = paths_inside(paths, [op](StringId name) { return name == op; });
    factor > 0 ? scale_ops(changed, inside, factor) : remove_ops(changed, inside);
    return replay(changed).mean();
  };
  EXPECT_DOUBLE_EQ(mean_with(fast, 0), 310) << "the other stream takes longer anyway";
  EXPECT_DOUBLE_EQ(mean_with(slow, 0.5), 210) << "then the other stream decides";
  EXPECT_DOUBLE_EQ(mean_with(slow, 0.8), 250) << "also by the op around it";
}

TEST(ScaleOps, TheCostOfGettingThereStaysUnlessTheOpIsGone) {
  OpPaths paths;
  const OpPath path = paths.inside(OpPath::kTop, StringId{1});
  GraphBuilder builder;
  builder.add(kLoopLane, 10, Category::kLaunch).path = path;
  builder.add(kLoopLane, 100, Category::kCompute).path = path;
  builder.host(5, Category::kHost);
  builder.end_step();
  const StepGraph graph = builder.take();
  const auto all = paths_inside(paths, [](StringId) { return true; });
  StepGraph twice = graph, gone = graph;
  scale_ops(twice, all, 0.5);
  remove_ops(gone, all);
  EXPECT_DOUBLE_EQ(replay(twice).mean(), 65);
  EXPECT_DOUBLE_EQ(replay(gone).mean(), 5);
}

TEST(RemoveOps, WithTheCodeBetweenTwoOfThem) {
  OpPaths paths;
  const OpPath add = paths.inside(OpPath::kTop, StringId{1});
  const OpPath other = paths.inside(OpPath::kTop, StringId{2});
  GraphBuilder builder;
  const auto op = [&](OpPath path) { builder.add(kLoopLane, 100, Category::kCompute).path = path; };
  builder.host(1, Category::kHost);
  op(add);
  builder.host(10, Category::kHost);  // leads from one to the next
  op(add);
  builder.host(2, Category::kHost);
  op(other);
  builder.host(3, Category::kHost);
  op(add);
  builder.host(4, Category::kHost);
  builder.end_step();
  StepGraph graph = builder.take();
  remove_ops(graph, paths_inside(paths, [](StringId name) { return name == StringId{1}; }));
  EXPECT_DOUBLE_EQ(replay(graph).mean(), 1 + 2 + 100 + 3 + 4);
}

TEST(BackwardOf, IsFoundByTheNamesOfNodes) {
  const std::vector<std::string> names = {
      "",
      "aten::linear",
      "aten::addmm",
      "aten::_log_softmax",
      "autograd::engine::evaluate_function: AddmmBackward0",
      "AddmmBackward0",
      "aten::mm",
      "autograd::engine::evaluate_function: LogSoftmaxBackward0",
      "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
      "NoOp"};
  OpPaths paths;
  StepGraph graph;
  const auto path = [&](OpPath parent, std::size_t name, PhaseKind phase = PhaseKind::kBackward) {
    Task task;
    task.path = paths.inside(parent, static_cast<StringId>(name));
    task.phase = phase;
    graph.tasks.push_back(task);
    return task.path;
  };
  const PhaseKind forward = PhaseKind::kForward;
  path(path(OpPath::kTop, 1), 2, forward);
  path(OpPath::kTop, 3, forward);
  path(path(path(OpPath::kTop, 4), 5), 6);
  path(OpPath::kTop, 7);
  path(OpPath::kTop, 8);
  path(OpPath::kTop, 9, forward);
  const auto backward = [&](std::size_t of) {
    const auto name = static_cast<StringId>(of);
    const auto inside = paths_inside(paths, [name](StringId id) { return id == name; });
    const auto text = [&](StringId id) {
      return std::string_view(names[static_cast<std::size_t>(id)]);
    };
    PathFlags flags = backward_of(graph, paths, inside, text);
    std::set<std::string> nodes;
    for (std::size_t i = 1; i < flags.size(); ++i) {
      if (flags[i])
        nodes.insert(names[static_cast<std::size_t>(paths.name(static_cast<OpPath>(i)))]);
    }
    return nodes;
  };
  using ::testing::UnorderedElementsAre;
  EXPECT_THAT(backward(1), UnorderedElementsAre(names[4], names[5], names[6]));
  EXPECT_THAT(backward(3), UnorderedElementsAre(names[7]));
  EXPECT_THAT(backward(9), UnorderedElementsAre());
  path(OpPath::kTop, 2, PhaseKind::kOptimizer);  // makes no node
  EXPECT_THAT(backward(1), UnorderedElementsAre(names[4], names[5], names[6]));
  path(path(OpPath::kTop, 9), 2, forward);  // called outside of aten::linear, too
  EXPECT_THAT(backward(1), UnorderedElementsAre());
}

}  // namespace
}  // namespace stepscope::testing

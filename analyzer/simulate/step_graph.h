// The dependency graph of some steps, in a form that replays in one pass: what each lane (a thread
// or a stream) did, in the order in which it was issued.
//
// A task begins when its lane is free and, if it awaits another lane, once that lane has finished
// everything that precedes the task. This expresses every dependency of a step:
//
//   program order   a lane does one thing after another
//   hand-over       the first piece of a backward pass on its own thread awaits the loop's lane
//   launch          a kernel comes right after the call that launched it, and awaits its thread
//   synchronisation the end of a waiting call awaits the stream's lane
//   a batch         the end of an input wait awaits the slot that a worker fills
//
// The model is Daydream's (Zhu et al., "Daydream: Accurately Estimating the Efficacy of
// Optimizations for DNN Training", ATC 2020): tasks with durations, edges by thread, stream, launch
// and synchronisation, and what-if questions as changes of the graph. docs/prediction.md has the
// details.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/attribute/op_path.h"
#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

using Lane = std::uint32_t;
inline constexpr Lane kLoopLane = 0;        // the loop's thread
inline constexpr Lane kAutogradLane = 1;    // all autograd threads of its process
inline constexpr Lane kCollectiveLane = 2;  // all threads that run collectives
inline constexpr Lane kFirstFreeLane = 3;
inline constexpr Lane kNoLane = UINT32_MAX;

// From a call to its work on an idle device.
inline constexpr std::int64_t kUsualLatency = 8'000;  // ns

enum class TaskKind : std::uint8_t {
  kHost,  // a thread did something, or was between two things it did
  kWait,  // a thread waited for another lane; takes no time of its own
  kApi,   // a call of the CUDA runtime or driver
  kKernel,
  kCopy,
  kMemset,
};

struct Task {
  std::int64_t start_ns = 0;  // as recorded; says nothing about a replay
  std::int64_t dur_ns = 0;
  std::int64_t lag_ns = 0;  // from the end of `awaits` to the task: the latency of a launch
  std::uint32_t step = 0;   // position in StepGraph::steps
  OpPath path = OpPath::kTop;
  StringId label = StringId::kNone;  // the innermost user scope
  Lane lane = kLoopLane;
  Lane awaits = kNoLane;
  TaskKind kind = TaskKind::kHost;
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;
  bool synchronises = false;        // the end of a call that waited for a device
  bool pageable_to_device = false;  // a copy from pageable memory, and the end of its call
  bool pinned_to_device = false;    // a copy from pinned memory
  std::int64_t bytes = 0;           // of a copy
};

struct StepGraph {
  std::vector<Task> tasks;         // predecessors come before successors
  std::vector<std::size_t> steps;  // the step of the loop at each position
  std::size_t first_counted = 0;   // positions before it only warm up the pipelines
  Lane lanes = kFirstFreeLane;     // lanes are 0 … lanes - 1
  std::vector<Lane> streams;       // those of a device
};

// A lane that no task uses yet.
inline Lane add_lane(StepGraph& graph) { return graph.lanes++; }

}  // namespace stepscope

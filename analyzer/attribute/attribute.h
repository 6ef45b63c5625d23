// Attribution of a whole run: streams the ops once and gives every instant of every step to one
// category, as the loop thread saw it and as each device that worked for the loop did.
//
// Memory: a few slices a step, tables of kMaxNames op names, and a reorder window of
// kReorderWindow ops (24 bytes each); it does not grow with the number of ops. The threads in a
// store interleave, and a parent comes after its children, so a step is swept only when the stream
// is a window ahead of it. An op that arrives later than that (its step was swept) is counted in
// late_ops and otherwise left out; the sums stay exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/attribute/kernel_table.h"
#include "analyzer/attribute/op_series.h"
#include "analyzer/attribute/phase_split.h"
#include "analyzer/attribute/step_account.h"
#include "analyzer/attribute/sweep.h"
#include "analyzer/ops/op_class.h"
#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"
#include "analyzer/steps/loop_parts.h"

namespace stepscope {

inline constexpr std::size_t kReorderWindow = std::size_t{1} << 20;

// The calls of modules of each thread, by start.
using ModuleCalls = std::map<ThreadId, std::vector<ModuleCall>>;

// Called for each op during the single read. `id` is op.id.
using OpObserver = std::function<void(const Op& op, std::int64_t id, OpClass kind)>;

struct AttributeOptions {
  const DeviceWork* devices = nullptr;   // null: the host alone
  const ModuleCalls* modules = nullptr;  // recorded calls of modules; null: none
  OpObserver on_op;                      // may be empty
  std::size_t reorder_window = kReorderWindow;
  bool op_series = false;  // fill AttributedLoop::op_blocks and kernel_blocks
  // The observer of the frames of a loop; empty or null: none.
  std::function<FrameObserver*(std::size_t loop)> observer;
  // Called periodically with the number of ops seen so far.
  std::function<void(std::int64_t)> progress;
};

// How the op tables treat a step.
enum class StepRole : std::uint8_t { kSteady, kWarmUp, kLeftOut };

struct AttributedStep {
  TimeRange range;                   // as in Loop::steps, without segments at its edges
  Duration paused{0};                // in segments inside it
  std::int64_t op_count = 0;         // of the loop's own thread
  bool ops_recorded = false;         // its ops were recorded, not only its phases
  bool ops_in_part = false;          // some of its ops are there, not all; ops_recorded is false
  StepAccount account;               // of the loop thread
  std::vector<StepAccount> devices;  // of each of AttributedLoop::devices

  [[nodiscard]] bool is_plain() const { return !ops_recorded && !ops_in_part; }  // no ops at all
};

// A step that is this many times as long as each step without ops is so for another reason than
// recording ops.
inline constexpr int kFarLonger = 2;

struct AttributedLoop {
  std::vector<AttributedStep> steps;        // one for each of Loop::steps
  StepStretches stretches;                  // of each step; they have the times of its account
  std::vector<DeviceId> devices;            // that worked for the loop
  std::vector<KernelTable> steady_kernels;  // of each device
  std::vector<KernelTable> warm_up_kernels;
  OpTable steady_ops;
  OpTable warm_up_ops;
  std::vector<PhaseKind> call_phases;               // from LoopDevices::take_call_phases()
  std::vector<std::vector<OpBlock>> kernel_blocks;  // like op_blocks, of each device's kernels
  std::vector<OpBlock> op_blocks;  // of the steps that are not left out and have ops
  std::int64_t late_ops = 0;
  // If some steps have ops and others none: what recording the ops cost, and how to subtract it.
  std::shared_ptr<const PhaseSplit> split;
  // How many names share the rows of kFurtherNames in the tables and blocks.
  std::int64_t merged_ops = 0;
  std::int64_t merged_kernels = 0;
};

using RoleOfStep = std::function<StepRole(std::size_t loop, std::size_t step)>;

// The result has one element for each of `loops`. Fails only when reading the ops fails.
Result<std::vector<AttributedLoop>> attribute(const RecordedRun& recording,
                                              const std::vector<Loop>& loops,
                                              const RoleOfStep& role,
                                              const AttributeOptions& options = {});

}  // namespace stepscope

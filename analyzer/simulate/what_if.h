// Changes to a step, as changes to its graph. Each is a small function; several can be applied
// together. docs/prediction.md describes what each assumes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analyzer/simulate/step_graph.h"

namespace stepscope {

// Flags some of the paths.
using PathFlags = std::vector<bool>;  // index: the OpPath

// `ns` times `factor`, capped at the longest possible recording: a question may ask for more than a
// time can represent.
std::int64_t scaled(std::int64_t ns, double factor);

// The paths inside an op (or scope) that `matches`.
PathFlags paths_inside(const OpPaths& paths, const std::function<bool(StringId)>& matches);

// Scales what runs inside these ops by `factor`. For ops that launched kernels: the kernels; for
// other ops: their self time, without the framework's overhead.
void scale_ops(StepGraph& graph, const PathFlags& ops, double factor);

// Scales what these ops themselves do on the host in one phase by `factor`.
void scale_host_ops(StepGraph& graph, PhaseKind phase, const PathFlags& ops, double factor);

// Removes everything inside these ops, and what a thread did between two of them with no other op
// in between: the program's code that called the second.
void remove_ops(StepGraph& graph, const PathFlags& ops);

// Scales by `factor` what the threads did at these times, which are apart and in order, and what
// they launched. Unless `factor` is 0, the framework's overhead of each op stays.
void scale_times(StepGraph& graph, const std::vector<TimeRange>& times, double factor);

// The paths of which everything was done or launched at these times.
PathFlags paths_only_at(const StepGraph& graph, const OpPaths& paths,
                        const std::vector<TimeRange>& times);

// The paths inside the autograd nodes of these ops. Nodes are named after the op that creates them
// in the forward pass (AddBackward0: aten::add; torch/csrc/autograd/generated); a node whose op
// also runs elsewhere in the forward pass is left out. `text` resolves a name.
PathFlags backward_of(const StepGraph& graph, const OpPaths& paths, const PathFlags& ops,
                      const std::function<std::string_view(StringId)>& text);

// Removes the work that the loop's thread does during its waits for input (`busy_share` of them),
// except for the ops that collate a batch.
void cache_input(StepGraph& graph, const PathFlags& collating, double busy_share);

// The names of such ops: torch.utils.data's collate function and index_select use them.
bool collates(std::string_view op);

// CPU time of handing over a batch: that of its worker, and that of the loop's thread.
struct HandOver {
  std::int64_t worker_ns = 0;
  std::int64_t loop_ns = 0;
};

// Batches are prepared by `workers` threads or processes, each up to two batches ahead, and
// delivered in turn (as in torch.utils.data's DataLoader and torch::data). A worker does what the
// loop's thread did during a wait for input; the loop awaits the result.
// `one_batch_a_step`: all waits of a step are for the same batch, as where they are inferred: ops
// that make a batch interrupt the wait for it. Otherwise each is for a batch of its own.
void input_on_workers(StepGraph& graph, int workers, HandOver hand_over = {},
                      bool one_batch_a_step = false);

// Removes the framework's overhead of each op in these phases.
void remove_launches(StepGraph& graph, const std::function<bool(PhaseKind)>& in_phase);

// The same, and calls that launch work take no time and have almost no latency: a CUDA graph.
void launch_as_graph(StepGraph& graph);

// The host does not wait for a device, neither in a synchronising call nor for a copy to the host.
void remove_syncs(StepGraph& graph);

// Copies from pageable memory use pinned memory: the call does not wait for the copy, which runs at
// the rate of the fastest copy from pinned memory in this run, or at twice its own rate if there is
// none.
void pin_copies(StepGraph& graph);

// Removes the time between the ops of this phase.
void remove_host_time(StepGraph& graph, PhaseKind phase);

// Shortens the ops of the loop's thread outside input by `ns` per step in all, proportionally.
void shorten_loop_ops(StepGraph& graph, double ns);

// Scales what the loop's thread and its devices compute outside input by `factor`, and inside `ops`
// by `factor_of_ops`; the framework's overhead of each op stays.
void scale_loop_work(StepGraph& graph, const PathFlags& ops, double factor, double factor_of_ops);

// As if `samples` steps were one and shared its fixed costs: the loop's own code between the ops,
// the framework's overhead of each op, and everything that the ops in `fixed` do themselves.
void share_fixed_costs(StepGraph& graph, const PathFlags& fixed, int samples);

// What the loop's thread does between two ops of a step, if no longer than `most_ns` (else it is
// the program's own work); not in input, nor in labelled scopes.
bool is_short_gap(const Task& task, std::int64_t most_ns);

// Scales these gaps by `factor`.
void scale_short_gaps(StepGraph& graph, std::int64_t most_ns, double factor);

}  // namespace stepscope

// What one may do to a step, as changes of its graph. Each is a small function; a Scenario names
// several, which are applied together. docs/prediction.md tells what each assumes.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analyzer/simulate/step_graph.h"

namespace stepscope {

// Whether something is asked about the ops of a path.
using PathFlags = std::vector<bool>;  // index: the OpPath

// `ns` times `factor`, and at most what a recording may hold in all: a question may ask for more
// than any time can express.
std::int64_t scaled(std::int64_t ns, double factor);

// The paths inside of an op (or scope) that `matches`.
PathFlags paths_inside(const OpPaths& paths, const std::function<bool(StringId)>& matches);

// What runs inside of these ops takes `factor` as long. Ops that launched kernels: the kernels;
// other ops: their own time, without the framework's cost of getting there.
void scale_ops(StepGraph& graph, const PathFlags& ops, double factor);

// What these ops themselves do on the host in one phase takes `factor` as long.
void scale_host_ops(StepGraph& graph, PhaseKind phase, const PathFlags& ops, double factor);

// All inside of these ops is gone, and so is what a thread did between two of them with no other op
// in between: the program's code that called the second.
void remove_ops(StepGraph& graph, const PathFlags& ops);

// The paths inside of the autograd nodes of these ops. Nodes are named after the op that makes them
// in the forward pass (AddBackward0: aten::add; torch/csrc/autograd/generated); one whose op is
// called elsewhere in it too is left out. `text` says what a name is.
PathFlags backward_of(const StepGraph& graph, const OpPaths& paths, const PathFlags& ops,
                      const std::function<std::string_view(StringId)>& text);

// What the loop's thread works in its waits for input is gone (it is `busy_share` of them), but for
// the ops that put a batch together from what is there.
void cache_input(StepGraph& graph, const PathFlags& collating, double busy_share);

// The names of such ops: torch.utils.data's collate function and index_select use them.
bool collates(std::string_view op);

// Batches are prepared by `workers` threads or processes, each up to two batches ahead, which are
// dealt out in turn (torch.utils.data's DataLoader and torch::data do). What the loop's thread did
// in a wait for input, a worker does; the loop awaits the result.
void input_on_workers(StepGraph& graph, int workers);

// The framework's own cost of each op in these phases is gone.
void remove_launches(StepGraph& graph, const std::function<bool(PhaseKind)>& in_phase);

// Nor does a call that launches work take time, and a launch has no latency to speak of: a CUDA
// graph.
void launch_as_graph(StepGraph& graph);

// The host does not wait for a device: not in a synchronising call, nor for a copy to the host.
void remove_syncs(StepGraph& graph);

// Copies from pageable memory come from pinned memory: the call does not wait for the copy, which
// goes as fast as the fastest one from pinned memory in this run, or twice as fast as it did.
void pin_copies(StepGraph& graph);

// The time between the ops of this phase is gone.
void remove_host_time(StepGraph& graph, PhaseKind phase);

// The ops of the loop's thread outside of input take `ns` less a step in all, each in proportion.
void shorten_loop_ops(StepGraph& graph, double ns);

// What the loop's thread and its devices compute outside of input takes `factor` as long, inside of
// `ops` `factor_of_ops`; the framework's own cost of each op stays.
void scale_loop_work(StepGraph& graph, const PathFlags& ops, double factor, double factor_of_ops);

// As if `samples` steps were one, and each of the steps paid its part: of the loop's own code
// between the ops, of the framework's cost of each op, and of all that the ops in `fixed` do
// themselves.
void share_fixed_costs(StepGraph& graph, const PathFlags& fixed, int samples);

// What the loop's thread does between two ops of a step, where that is no longer than `most_ns`
// (else it is work of the program's own); not in input, nor in labelled scopes.
bool is_short_gap(const Task& task, std::int64_t most_ns);

// That takes `factor` as long.
void scale_short_gaps(StepGraph& graph, std::int64_t most_ns, double factor);

// What happens in the scope of this name is gone.
void remove_scope(StepGraph& graph, StringId label);

}  // namespace stepscope

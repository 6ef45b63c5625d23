// Inference that records gradients: each op makes an autograd node, and what the node needs is
// kept, for a backward pass that never comes.
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

// Of the framework's own cost of an op: what it takes to make a node and to drop it again.
// Measured: bench/predict/node_cost.py.
constexpr double kNodeCost = 1.1;

// What the graph keeps cannot be used again within the call: the next op writes to memory that is
// in no cache, about so fast. Tensors beyond this size are in none either way.
constexpr double kBytesPerNs = 10;
constexpr double kMostCached = 1 << 20;  // bytes

// The part of a step that recording takes, as far as the counters tell.
double recording_ns(const AdviceContext& context, double nodes) {
  const LoopUse& use = context.report.use;
  const double made =
      nodes * kNodeCost * static_cast<double>(to_ns(context.recording.facts.leaf_op_overhead));
  const bool cached = use.tensor_size > 0 && use.tensor_size <= kMostCached;
  return made + (cached ? use.tensor_bytes / kBytesPerNs : 0);
}

}  // namespace

std::optional<Advice> gradients_in_inference(const AdviceContext& context) {
  const OpFacts& facts = context.report.op_facts;
  if (context.report.trains || context.report.use.backward_elsewhere) return std::nullopt;
  if (facts.steps == 0 || facts.nodes < facts.steps) return std::nullopt;
  const double nodes = static_cast<double>(facts.nodes) / static_cast<double>(facts.steps);
  const double saved = recording_ns(context, nodes);
  const double predicted =
      context.predictor.step_ns([saved](StepGraph& graph) { shorten_loop_ops(graph, saved); });

  Advice advice;
  advice.rule = "gradients-in-inference";
  advice.title = "record no gradients: no_grad()";
  const std::string made = count_text(static_cast<std::int64_t>(nodes + 0.5));
  advice.why = made +
               " autograd nodes a call are made and never used; what they need stays in memory "
               "until the call is over";
  advice.evidence = {
      made + " autograd nodes are made in a call, and there is no backward pass in the run", nodes,
      "count",
      "SELECT max(sequence) - min(sequence) AS nodes FROM op WHERE thread_id = " +
          std::to_string(context.loop_thread())};
  // Said however little it saves: it takes memory first, and time second.
  return with_any_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

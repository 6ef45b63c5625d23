// Inference that records gradients: each op creates an autograd node, and the tensors that the node
// needs are kept for a backward pass that never comes.
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

// The cost of creating and dropping a node, relative to the framework's overhead of an op.
// Measured: bench/predict/node_cost.py.
constexpr double kNodeCost = 1.1;

// Memory that the graph keeps cannot be reused within the call: the next op writes to memory that
// is in no cache, at about this rate. Tensors beyond this size do not fit into the caches either
// way.
constexpr double kBytesPerNs = 10;
constexpr double kMaxCachedBytes = 1 << 20;

// The part of a step that recording gradients takes, as far as the counters show.
double recording_ns(const AdviceContext& context, double nodes) {
  const LoopUse& use = context.report.use;
  const double made =
      nodes * kNodeCost * static_cast<double>(to_ns(context.recording.facts.leaf_op_overhead));
  const bool cached = use.tensor_size > 0 && use.tensor_size <= kMaxCachedBytes;
  return made + (cached ? use.tensor_bytes / kBytesPerNs : 0);
}

}  // namespace

std::optional<AdviceFacts> gradients_in_inference(const AdviceContext& context) {
  const OpFacts& facts = context.report.op_facts;
  if (context.report.trains || context.report.use.backward_elsewhere) return std::nullopt;
  if (facts.steps == 0 || facts.nodes < facts.steps) return std::nullopt;
  const double nodes = static_cast<double>(facts.nodes) / static_cast<double>(facts.steps);
  const double saved = recording_ns(context, nodes);
  const double predicted =
      context.predictor.step_ns([saved](StepGraph& graph) { shorten_loop_ops(graph, saved); });

  AdviceFacts advice;
  advice.rule = "gradients-in-inference";
  advice.facts = GradientsInInference{};
  advice.evidence = {EvidenceKind::kAdvice, nodes, "count",
                     "SELECT max(sequence) - min(sequence) AS nodes FROM op WHERE thread_id = " +
                         std::to_string(context.loop_thread())};
  // Reported however little it saves: it costs more memory than time.
  return with_any_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

// Inference with the model still in training mode: dropout drops activations, so results are
// random; batch norm takes its statistics from the batch and overwrites the ones it has learned.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

// The ops that torch.nn's dropout layers call (aten/src/ATen/native/Dropout.cpp). In evaluation
// mode each returns its input.
constexpr std::array<std::string_view, 4> kDropouts = {
    "aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"};

// The ops that these call, in training mode only, to choose what to drop.
constexpr std::array<std::string_view, 3> kChoices = {"aten::bernoulli_", "aten::native_dropout",
                                                      "aten::_fused_dropout"};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The paths inside dropouts that drop activations.
PathFlags dropping(const AdviceContext& context) {
  const OpPaths& paths = context.predictor.paths();
  const auto flag = [](PathFlags& flags, OpPath path) {
    flags[static_cast<std::size_t>(path)] = true;
  };
  PathFlags flags(paths.size(), false);
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const auto path = static_cast<OpPath>(i);
    if (!is_among(kChoices, context.recording.text(paths.name(path)))) continue;
    const OpPath around = paths.parent(path);
    const bool called_by_dropout =
        around != OpPath::kTop && is_among(kDropouts, context.recording.text(paths.name(around)));
    if (called_by_dropout) flag(flags, around);
  }
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const OpPath around = paths.parent(static_cast<OpPath>(i));
    if (flags[static_cast<std::size_t>(around)]) flags[i] = true;
  }
  return flags;
}

// Batch norm in evaluation mode reads its input once and computes no statistics: about this much of
// its time remains on a CPU (bench/predict, "training mode off").
constexpr double kLeftOfBatchNorm = 0.25;

// In training mode, torch.nn increments num_batches_tracked right before each batch norm.
bool batch_norm_trains(const OpFacts& facts) {
  return facts.batch_norms > 0 && facts.counting_batch_norms == facts.batch_norms;
}

EvidenceFact dropout_evidence(std::int64_t calls) {
  return {EvidenceKind::kAdvice, static_cast<double>(calls), "count",
          "SELECT name, calls, total_ns FROM op_stats WHERE name LIKE 'aten::%dropout%'"};
}

EvidenceFact batch_norm_evidence(const OpFacts& facts) {
  return {EvidenceKind::kAdvice, static_cast<double>(facts.batch_norms), "count",
          "SELECT name, calls, total_ns FROM op_stats WHERE name LIKE 'aten::%batch_norm%'"};
}

std::int64_t dropout_calls(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) {
    if (is_among(kDropouts, op.name)) calls += op.calls;
  }
  return calls;
}

}  // namespace

std::optional<AdviceFacts> evaluation_mode(const AdviceContext& context) {
  if (context.report.trains) return std::nullopt;
  const PathFlags drops = dropping(context);
  const bool dropped = std::find(drops.begin(), drops.end(), true) != drops.end();
  const bool normalised = batch_norm_trains(context.report.op_facts);
  if (!dropped && !normalised) return std::nullopt;
  const PathFlags norms = paths_named(context, {"aten::batch_norm"});
  const bool on_host = context.predictor.graph().streams.empty();
  const double predicted = context.predictor.step_ns([&](StepGraph& graph) {
    remove_ops(graph, drops);
    if (normalised && on_host) scale_ops(graph, norms, kLeftOfBatchNorm);
  });

  AdviceFacts advice;
  advice.rule = "evaluation-mode";
  advice.facts = EvaluationMode{dropped, normalised};
  advice.evidence = dropped ? dropout_evidence(dropout_calls(context.report))
                            : batch_norm_evidence(context.report.op_facts);
  // Reported however little it saves: it is above all a correctness bug.
  return with_any_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

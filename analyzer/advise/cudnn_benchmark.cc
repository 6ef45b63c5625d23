// Convolutions with the same shapes in every step, where cuDNN guesses the fastest algorithm
// instead of measuring it.
//
// If the recording does not say whether benchmark mode is on (an imported trace, processes that
// disagree), the kernels show it: the mode tries algorithms the first time a shape occurs, and most
// of them run kernels that never occur again. If the first step has no such kernels, the mode was
// off.
#include <utility>

#include "analyzer/advise/rules.h"

namespace stepscope {
namespace {

constexpr double kMinShare = 0.10;  // of the device's kernel time, spent in convolutions

struct Convolutions {
  double share = 0;  // of the time of kernels
  bool any = false;
};

Convolutions convolutions(const AdviceContext& context) {
  const PathFlags inside =
      paths_named(context, {"aten::cudnn_convolution", "aten::cudnn_convolution_transpose",
                            "aten::cudnn_convolution_relu", "aten::convolution_backward"});
  double kernels = 0, theirs = 0;
  for (const Task& task : context.predictor.graph().tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    kernels += static_cast<double>(task.dur_ns);
    if (inside[static_cast<std::size_t>(task.path)]) theirs += static_cast<double>(task.dur_ns);
  }
  return {kernels > 0 ? theirs / kernels : 0, theirs > 0};
}

bool measures_already(const AdviceContext& context) {
  const auto& recorded = context.recording.facts.cudnn_benchmark;
  return recorded ? *recorded : context.report.tried_kernels.value_or(0) > 0;
}

CudnnMode mode_of(const AdviceContext& context) {
  if (context.recording.facts.cudnn_benchmark) return CudnnMode::kRecordedOff;
  return context.report.tried_kernels ? CudnnMode::kTriedNothing : CudnnMode::kUnknown;
}

}  // namespace

std::optional<AdviceFacts> cudnn_benchmark(const AdviceContext& context) {
  const OpFacts& facts = context.report.op_facts;
  if (context.predictor.graph().streams.empty()) return std::nullopt;
  if (!facts.ops_are_same() || !facts.shapes_are_same()) return std::nullopt;
  if (measures_already(context)) return std::nullopt;
  const Convolutions found = convolutions(context);
  if (found.share < kMinShare) return std::nullopt;

  AdviceFacts advice;
  advice.rule = "cudnn-benchmark";
  advice.facts = CudnnBenchmark{mode_of(context)};
  advice.evidence = {EvidenceKind::kAdvice, found.share, "ratio",
                     "SELECT op, name, calls, total_ns FROM kernel_stats WHERE op LIKE "
                     "'aten::cudnn_convolution%' ORDER BY total_ns DESC"};
  return without_prediction(context, std::move(advice));
}

}  // namespace stepscope

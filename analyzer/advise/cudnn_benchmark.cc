// Convolutions with the same shapes in every step, where cuDNN guesses the fastest algorithm
// instead of measuring it.
//
// Where the recording does not say whether benchmark mode is on (an imported trace, processes that
// disagree), the kernels do: the mode tries algorithms the first time a shape occurs, and most of
// them run kernels that never occur again. If the first step has no such kernels, the mode was off.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kLeastShare = 0.10;  // of the device's kernel time, spent in convolutions

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

std::string why_it_is_off(const AdviceContext& context, const std::string& unit) {
  if (context.recording.facts.cudnn_benchmark) return "cuDNN's benchmark mode is off";
  if (context.report.tried_kernels)
    return "the first " + unit + " tried no other kernels, so cuDNN's benchmark mode is off";
  return "it is unknown whether cuDNN's benchmark mode is on, as the first " + unit +
         " was not recorded";
}

}  // namespace

std::optional<Advice> cudnn_benchmark(const AdviceContext& context) {
  const OpFacts& facts = context.report.op_facts;
  if (context.predictor.graph().streams.empty()) return std::nullopt;
  if (!facts.ops_are_same() || !facts.shapes_are_same()) return std::nullopt;
  if (measures_already(context)) return std::nullopt;
  const Convolutions found = convolutions(context);
  if (found.share < kLeastShare) return std::nullopt;

  const std::string unit = context.report.unit();
  Advice advice;
  advice.rule = "cudnn-benchmark";
  advice.title = "turn on cuDNN's benchmark mode";
  advice.why = percent_text(found.share) + " of device time is spent in convolutions of the same " +
               (facts.same_shapes ? "shapes" : "ops") + " in each " + unit + "; " +
               why_it_is_off(context, unit) + ". The gain is unknown until tried";
  advice.evidence = {percent_text(found.share) + " of kernel time is spent in convolutions",
                     found.share, "ratio",
                     "SELECT op, name, calls, total_ns FROM kernel_stats WHERE op LIKE "
                     "'aten::cudnn_convolution%' ORDER BY total_ns DESC"};
  return without_prediction(context, std::move(advice));
}

}  // namespace stepscope

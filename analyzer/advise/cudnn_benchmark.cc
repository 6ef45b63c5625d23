// Convolutions of the same shapes in every step, with cuDNN's guess of the fastest algorithm
// instead of a measurement.
//
// Where the recording does not say whether its benchmark mode is on (an imported trace, processes
// of different minds), the kernels do: the mode tries algorithms the first time a shape comes, and
// most of these run kernels that never come again. A first step without such kernels had it off.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kLeastShare = 0.10;  // of the device's kernel time: convolutions

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
  if (context.recording.facts.cudnn_benchmark) return "its benchmark mode is off";
  if (context.report.tried_kernels)
    return "no other kernels were tried in the first, so its benchmark mode is off";
  return "whether its benchmark mode is on was not recorded: the first " + unit + " was not";
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
  advice.title = "let cuDNN measure: benchmark";
  advice.why = percent_text(found.share) + " of the device's time is convolutions of the same " +
               (facts.same_shapes ? "shapes" : "ops") + " in each " + unit + "; " +
               why_it_is_off(context, unit) + ". What it brings is not known before it is tried";
  advice.evidence = {percent_text(found.share) + " of the time of kernels is in convolutions",
                     found.share, "ratio",
                     "SELECT op, name, calls, total_ns FROM kernel_stats WHERE op LIKE "
                     "'aten::cudnn_convolution%' ORDER BY total_ns DESC"};
  return without_prediction(context, std::move(advice));
}

}  // namespace stepscope

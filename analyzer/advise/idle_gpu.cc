// The CPU computes while a GPU of the machine is idle.
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kIdle = 0.05;          // busy for less than this
constexpr double kLeastCompute = 0.30;  // of the step, on the CPU

}  // namespace

std::optional<Advice> idle_gpu(const AdviceContext& context) {
  const LoopReport& report = context.report;
  const bool uses_one = report.device != DeviceId::kNone || !context.recording.devices.empty();
  if (uses_one || report.use.gpus == 0 || report.use.gpu_busy >= kIdle) return std::nullopt;
  if (context.share(Category::kCompute) < kLeastCompute) return std::nullopt;

  Advice advice;
  advice.rule = "idle-gpu";
  advice.title = "move the model to the GPU";
  advice.why = percent_text(context.share(Category::kCompute)) + " of the " + report.unit() +
               " is compute on the CPU while " +
               (report.use.gpus == 1 ? "the machine's GPU is idle"
                                     : count_text(report.use.gpus) + " GPUs are idle") +
               "; the speed on the GPU is unknown until tried";
  advice.evidence = {
      "the busiest GPU is busy for " + percent_text(report.use.gpu_busy) + " meanwhile",
      report.use.gpu_busy, "ratio",
      "SELECT gpu, avg(value) AS percent FROM counter WHERE counter = "
      "'gpu_utilization_percent' GROUP BY gpu"};
  return without_prediction(context, std::move(advice));
}

}  // namespace stepscope

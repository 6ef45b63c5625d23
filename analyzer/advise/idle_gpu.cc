// The CPU computes while a GPU of the machine is idle.
#include <utility>

#include "analyzer/advise/rules.h"

namespace stepscope {
namespace {

constexpr double kIdle = 0.05;        // busy for less than this
constexpr double kMinCompute = 0.30;  // of the step, on the CPU

}  // namespace

std::optional<AdviceFacts> idle_gpu(const AdviceContext& context) {
  const LoopReport& report = context.report;
  const bool uses_one = report.device != DeviceId::kNone || !context.recording.devices.empty();
  if (uses_one || report.use.gpus == 0 || report.use.gpu_busy >= kIdle) return std::nullopt;
  if (context.share(Category::kCompute) < kMinCompute) return std::nullopt;

  AdviceFacts advice;
  advice.rule = "idle-gpu";
  advice.facts = IdleGpu{};
  advice.evidence = {EvidenceKind::kAdvice, report.use.gpu_busy, "ratio",
                     "SELECT gpu, avg(value) AS percent FROM counter WHERE counter = "
                     "'gpu_utilization_percent' GROUP BY gpu"};
  return without_prediction(context, std::move(advice));
}

}  // namespace stepscope

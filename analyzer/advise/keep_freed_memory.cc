// Tensor memory that malloc returns to the system when it is freed, and allocates again in the next
// step: the kernel then maps and zeroes each of its pages again, at first touch.
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr double kPageBytes = 4096;  // at least; one fault may bring a huge page
// The longest that the kernel takes for a fault that maps a page of 4 KiB: 0.2 to 0.7 µs on bare
// metal, 2 to 3.5 µs in a virtual machine (bench/predict/fault_cost.py). Kernel time beyond that
// has other causes.
constexpr double kMaxFaultNs = 4000;
// Where other processes deliver the batches, each batch comes in newly mapped shared memory: if the
// faults amount to less than this share of the allocated tensor memory, that may explain them.
constexpr double kMinOfTensors = 0.25;

// Whether memory is returned: at most half of the memory touched for the first time makes the
// process larger.
bool gives_back(const LoopUse& use) {
  const double touched = use.minor_faults * kPageBytes;
  const bool mapped = use.loader_processes > 0 && touched < kMinOfTensors * use.tensor_bytes;
  return use.tensor_bytes > 0 && !mapped && use.growth_bytes <= touched / 2;
}

// A lower bound of the time that a step spends on faults: reused memory is also more likely to be
// in the caches. The kernel's time is that of all threads, which fault in parallel.
double fault_ns(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  const double kernel = std::min(use.system_ns, use.minor_faults * kMaxFaultNs);
  return kernel / std::max(1.0, use.cpu_ns / context.step_ns());
}

}  // namespace

std::optional<AdviceFacts> keep_freed_memory(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  if (!gives_back(use) || !context.predictor.graph().streams.empty()) return std::nullopt;
  const double saved = fault_ns(context);
  const double predicted =
      context.predictor.step_ns([saved](StepGraph& graph) { shorten_loop_ops(graph, saved); });

  AdviceFacts advice;
  advice.rule = "keep-freed-memory";
  advice.facts = KeepFreedMemory{};
  advice.evidence = {
      EvidenceKind::kAdvice, use.minor_faults, "count",
      "SELECT at_ns, value FROM counter WHERE counter = 'minor_faults' AND process_id = " +
          std::to_string(static_cast<std::int64_t>(context.report.process)) + " ORDER BY at_ns"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

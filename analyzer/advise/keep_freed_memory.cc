// Memory of tensors that malloc gives back to the system when they are freed, and asks for anew in
// the next step: each of its pages is then made and zeroed by the kernel again, at first touch.
#include <algorithm>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kPageBytes = 4096;  // at least; one fault may bring a huge page
// The kernel takes no longer for a fault that brings a page of 4 KiB: 0.2 to 0.7 µs where nothing
// is virtual, 2 to 3.5 µs in a virtual machine (bench/predict/fault_cost.py). What it did beyond
// that was something else.
constexpr double kMostFaultNs = 4000;
// Where other processes bring the batches, these come in shared memory that is mapped for each:
// faults for less than this part of what tensors ask for may be no more than that.
constexpr double kLeastOfTensors = 0.25;

// Of what is touched for the first time the process keeps at most half as more memory: the rest is
// given back.
bool gives_back(const LoopUse& use) {
  const double touched = use.minor_faults * kPageBytes;
  const bool mapped = use.loader_processes > 0 && touched < kLeastOfTensors * use.tensor_bytes;
  return use.tensor_bytes > 0 && !mapped && use.growth_bytes <= touched / 2;
}

// The time of a step that goes to faults, at least: what is computed in memory that is kept also
// finds more of it in the caches. The kernel's time is of all threads, and they fault side by side.
double fault_ns(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  const double kernel = std::min(use.system_ns, use.minor_faults * kMostFaultNs);
  return kernel / std::max(1.0, use.cpu_ns / context.step_ns());
}

}  // namespace

std::optional<Advice> keep_freed_memory(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  if (!gives_back(use) || !context.predictor.graph().streams.empty()) return std::nullopt;
  const double saved = fault_ns(context);
  const double predicted =
      context.predictor.step_ns([saved](StepGraph& graph) { shorten_loop_ops(graph, saved); });

  Advice advice;
  advice.rule = "keep-freed-memory";
  advice.title = "let malloc keep what is freed";
  const std::string faults = count_text(static_cast<std::int64_t>(use.minor_faults + 0.5));
  advice.why = "memory of tensors is given back to the system and taken anew: " + faults +
               in_units(" page faults a step, ", context.report.unit()) + time_text(use.system_ns) +
               " of CPU time in the kernel; set MALLOC_TRIM_THRESHOLD_=17179869184 and "
               "MALLOC_MMAP_THRESHOLD_=33554432 (glibc), or preload jemalloc or tcmalloc";
  advice.evidence = {
      faults + in_units(" page faults a step, while the memory held stays as it is",
                        context.report.unit()),
      use.minor_faults, "count",
      "SELECT at_ns, value FROM counter WHERE counter = 'minor_faults' AND process_id = " +
          std::to_string(static_cast<std::int64_t>(context.report.process)) + " ORDER BY at_ns"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope

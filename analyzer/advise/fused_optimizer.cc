// An optimizer that updates its parameters one by one, with many small ops for each.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/advise/rules.h"
#include "analyzer/median.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr std::int64_t kManyOps = 50;  // per step; a fused optimizer calls one op per group

// The elementwise aten ops of optimizers, and how many tensors of the parameter's size each reads
// and writes: on a CPU such an op is limited by memory bandwidth.
struct Elementwise {
  std::string_view op;
  double tensors;
};
constexpr std::array<Elementwise, 9> kElementwise = {{{"aten::lerp_", 3},
                                                      {"aten::mul_", 2},
                                                      {"aten::addcmul_", 3},
                                                      {"aten::addcmul", 4},
                                                      {"aten::sqrt", 2},
                                                      {"aten::div", 2},
                                                      {"aten::div_", 2},
                                                      {"aten::addcdiv_", 4},
                                                      {"aten::addcdiv", 4}}};
// A fused Adam reads parameter, gradient and two moments, and writes all but the gradient.
constexpr double kFusedTensors = 7;

// Whether torch.optim's class of this name takes fused=True.
bool has_fused(std::string_view optimizer) {
  constexpr std::array<std::string_view, 4> kClasses = {"Adam", "AdamW", "SGD", "Adagrad"};
  return std::find(kClasses.begin(), kClasses.end(), optimizer) != kClasses.end();
}

// The classes of the optimizers that the loop steps, as Python's marks and torch.optim's own ranges
// name them. Empty: none is named, as in C++.
std::set<std::string_view> optimizers_of(const AdviceContext& context) {
  std::set<std::string_view> classes{context.report.op_facts.optimizer};
  for (const Phase& phase : phases_of(context.recording, context.report.verdict.thread)) {
    if (phase.kind == PhaseKind::kOptimizer) classes.insert(context.recording.text(phase.name));
  }
  classes.erase("");
  classes.erase("GradScaler");  // it steps another
  return classes;
}

double tensors_of(std::string_view op) {  // 0: not such an op
  const auto known = std::find_if(kElementwise.begin(), kElementwise.end(),
                                  [op](const Elementwise& each) { return op == each.op; });
  return known == kElementwise.end() ? 0 : known->tensors;
}

struct OptimizerOps {
  std::int64_t calls = 0;    // per step
  bool fused = false;        // one of them is a fused op
  double arithmetic_ns = 0;  // in the run, of the ops in kElementwise
  double fused_ns = 0;       // the time that one op for all of them would take

  [[nodiscard]] double shorter() const {
    return arithmetic_ns > 0 ? std::min(fused_ns / arithmetic_ns, 1.0) : 1;
  }
};

OptimizerOps optimizer_ops(const LoopReport& report) {
  OptimizerOps result;
  std::vector<double> ns_a_tensor;
  for (const OpRow& op : report.ops) {
    if (op.phase != phase_name(PhaseKind::kOptimizer)) continue;
    result.calls += op.calls;
    result.fused = result.fused || op.name.find("::_fused_") != std::string::npos;
    const double tensors = tensors_of(op.name);
    if (tensors == 0) continue;
    result.arithmetic_ns += static_cast<double>(op.self_ns);
    ns_a_tensor.push_back(static_cast<double>(op.self_ns) / tensors);
  }
  result.calls /= static_cast<std::int64_t>(report.op_steps.size());
  // The median, because an op that makes a new tensor also pays for its pages.
  if (!ns_a_tensor.empty()) result.fused_ns = kFusedTensors * upper_median(ns_a_tensor);
  return result;
}

}  // namespace

std::optional<AdviceFacts> fused_optimizer(const AdviceContext& context) {
  const OptimizerOps ops = optimizer_ops(context.report);
  if (ops.calls < kManyOps || ops.fused) return std::nullopt;
  // No class in C++ is fused, so there a rewrite is advised.
  const std::set<std::string_view> optimizers = optimizers_of(context);
  const auto fusable = std::find_if(optimizers.begin(), optimizers.end(), has_fused);
  if (!optimizers.empty() && fusable == optimizers.end()) return std::nullopt;
  // On a device, the arithmetic is in the kernels, which stay unchanged.
  const bool on_device = !context.predictor.graph().streams.empty();
  const auto arithmetic = paths_inside(context.predictor.paths(), [&](StringId name) {
    return !on_device && tensors_of(context.recording.text(name)) > 0;
  });
  const double predicted = context.predictor.step_ns([&](StepGraph& graph) {
    remove_launches(graph, [](PhaseKind phase) { return phase == PhaseKind::kOptimizer; });
    remove_host_time(graph, PhaseKind::kOptimizer);
    scale_host_ops(graph, PhaseKind::kOptimizer, arithmetic, ops.shorter());
  });

  AdviceFacts advice;
  advice.rule = "fused-optimizer";
  advice.facts = FusedOptimizer{optimizers.empty() ? "" : std::string(*fusable)};
  advice.evidence = {
      EvidenceKind::kAdvice, static_cast<double>(ops.calls), "count",
      "SELECT name, calls, self_ns FROM op_stats WHERE phase = 'optimizer' ORDER BY calls DESC"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope
